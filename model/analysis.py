"""Statistics of attention maps: arrays in, arrays out. Knows nothing of torch, of text or of the screen."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

__all__ = ["cosine_similarity", "merge_tokens"]

FloatArray = NDArray[np.float32]


def merge_tokens(maps: FloatArray, query_groups: Sequence[int], key_groups: Sequence[int]) -> FloatArray:
    """Join the tokens of a word: its weight as a key is the sum of its tokens', as a query their mean.

    So every row still sums to what it summed to before (Clark et al. 2019, section 4.1).

    Args:
        maps: (…, T, S).
        query_groups: For each of the T queries the index of its group, 0 … T' − 1 in order.
        key_groups: For each of the S keys the index of its group, 0 … S' − 1 in order.

    Returns:
        (…, T', S').
    """
    queries = _membership(query_groups)  # (T', T)
    keys = _membership(key_groups)  # (S', S)
    mean = queries / queries.sum(axis=1, keepdims=True)
    return np.asarray(mean @ maps @ keys.T, dtype=np.float32)


def _membership(groups: Sequence[int]) -> NDArray[np.float64]:
    index = np.asarray(groups, dtype=np.int64)
    return np.asarray(np.arange(index.max() + 1)[:, None] == index[None, :], dtype=np.float64)


def cosine_similarity(vectors: FloatArray) -> FloatArray:
    """Cosine between every two rows.

    Args:
        vectors: (N, D); a row of zeros is similar to nothing, itself included.

    Returns:
        (N, N), 1 = same direction.
    """
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0)
    return np.asarray(unit @ unit.T, dtype=np.float32)

"""Weights of the bootstrap that depend only on a seed and on the lines of a corpus."""

from math import exp, factorial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from model.corpora.hashing import uniform_bits

__all__ = ["poisson_weights"]

MOST = 20  # no weight is above; P(more) = 2 · 10⁻²⁰
LIMITS = np.array(
    [min(round(2.0**64 * sum(exp(-1) / factorial(j) for j in range(k + 1))), 2**64 - 1) for k in range(MOST)], np.uint64
)


def poisson_weights(seed: int, lines: ArrayLike, replicates: int) -> NDArray[np.int64]:
    """How often each sentence counts in each bootstrap replicate: Poisson with mean 1 (Hanley and MacGibbon 2006).

    Args:
        seed: Of the atlas.
        lines: The line numbers of N sentences.
        replicates: R.

    Returns:
        (R, N).
    """
    bits = uniform_bits(seed, np.asarray(lines)[None, :], np.arange(replicates)[:, None])
    return np.searchsorted(LIMITS, bits, side="right").astype(np.int64)

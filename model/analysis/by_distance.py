"""Attention as a function of distance only: the scores of positions in the layers, and the mean weights of a map."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from model.network.attention import MultiHeadAttention
from model.network.scores import attention_scores

__all__ = ["score_by_distance", "weight_by_distance"]

FloatArray = NDArray[np.float32]


@torch.inference_mode()
def score_by_distance(attention: MultiHeadAttention, reach: int) -> FloatArray:
    """The part of the scores that is the same for all words.

    With rotary positions: before the rotation, a query is W x + b and a key is W' y + b'. One term of their product,
    b · b', depends on no word. After the rotation it depends only on the distance ("RoFormer", Su et al. 2021, equation
    16). Where a layer adds a number for each distance (ALiBi, T5), it is that number.

    Args:
        attention: With at least 2 · reach + 1 positions, if they are rotary.
        reach: The largest distance, in tokens.

    Returns:
        (H, 2 · reach + 1): from the key `reach` tokens before the query to the key `reach` tokens after it.

    Raises:
        ValueError: the model has fewer positions.
    """
    added = attention.positions.bias(1, 2 * reach + 1, offset=reach)  # (1, H, 1, T)
    if added is not None:
        return added[0, :, 0].cpu().numpy()

    def turned(projection: nn.Linear) -> torch.Tensor:
        bias = projection.bias.expand(1, 2 * reach + 1, -1)  # (1, T, D)
        return attention.positions.rotate(attention.split_heads(bias))  # (1, H, T, K)

    queries, keys = turned(attention.query_projection), turned(attention.key_projection)
    keys = attention.for_each_head(keys)
    scores = attention_scores(queries[:, :, [reach]], keys, cap=attention.score_cap)  # (1, H, 1, T)
    return scores[0, :, 0].cpu().numpy()


def weight_by_distance(maps: FloatArray, reach: int) -> FloatArray:
    """The mean weight of the key at each distance, over all queries with a key there.

    Args:
        maps: Of self-attention, (…, S, S).
        reach: The largest distance, in tokens; smaller than S.

    Returns:
        (…, 2 · reach + 1): from the key `reach` tokens before the query to the key `reach` tokens after it.
    """
    distances = range(-reach, reach + 1)
    means = [np.diagonal(maps, distance, axis1=-2, axis2=-1).mean(axis=-1) for distance in distances]
    return np.stack(means, axis=-1).astype(np.float32)

"""The scores of attention: one number for each query and key. Every path of every model computes them here.

`attention_scores` puts the steps together: a product of query and key, a limit, and a number for the distance. A model
has some of these steps. This file computes no masks, no softmax and no numbers for distances.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

__all__ = ["Scoring", "add_bias", "additive_scores", "attention_scores", "cap_scores", "scaled_dot_product_scores"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Scoring:
    """How an attention layer computes weights from queries and keys, besides the mask."""

    scaling: float  # the factor of the products q·k
    cap: float | None = None  # the limit of the scores (Gemma 2), see `cap_scores`
    sinks: Tensor | None = None  # the score of the sink of each head (H,) (gpt-oss), see `attention_weights`


def attention_scores(
    queries: Tensor,
    keys: Tensor,
    *,
    scaling: float | None = None,
    cap: float | None = None,
    bias: Tensor | None = None,
    vector: Tensor | None = None,
    precision: torch.dtype | None = None,
) -> Tensor:
    """The scores before the mask.

    Args:
        queries: (B, H, T, K).
        keys: (B, H, S, K).
        scaling: The factor of the products q·k, 1/√K by default.
        cap: The limit of the scores (Gemma 2); None means that they have no limit.
        bias: Added after the limit, broadcast over (B, H, T, S), such as a number for the distance of query and key
            (T5, ALiBi). Its rows are those of the given queries, which may stand behind a cache.
        vector: One v for each head: then the scores are additive. See `additive_scores`.
        precision: The type of the scores; by default that of the queries.

    Returns:
        (B, H, T, S).
    """
    if vector is None:
        scores = scaled_dot_product_scores(queries, keys, scaling, precision)
    else:
        scores = additive_scores(queries, keys, vector)
    if cap is not None:
        scores = cap_scores(scores, cap)
    return scores if bias is None else add_bias(scores, bias)


def scaled_dot_product_scores(
    queries: Tensor, keys: Tensor, scaling: float | None = None, precision: torch.dtype | None = None
) -> Tensor:
    """QKᵀ / √d_k ("Attention Is All You Need", equation 1), or QKᵀ times another factor; see `attention_scores`."""
    products = queries @ keys.transpose(-2, -1)  # (B, H, T, S); step: scores
    if precision is not None:
        products = products.to(precision)
    # In place, because nobody else has the products, and a pass over them takes as long as a short product.
    if scaling is not None:
        return products.mul_(scaling)  # step: scores
    return products.div_(math.sqrt(queries.size(-1)))  # step: scores


def additive_scores(queries: Tensor, keys: Tensor, vector: Tensor) -> Tensor:
    """vᵀ tanh(q + k) of projected queries and keys (Bahdanau et al. 2015, appendix A.1.2).

    Args:
        queries: (B, H, T, K).
        keys: (B, H, S, K).
        vector: One v for each head, (H, K).

    Returns:
        (B, H, T, S).
    """
    sums = queries[:, :, :, None] + keys[:, :, None]  # (B, H, T, S, K)
    return torch.einsum("bhtsk,hk->bhts", sums.tanh(), vector.to(sums.dtype))  # (B, H, T, S); step: scores


def cap_scores(scores: Tensor, cap: float) -> Tensor:
    """Limit scores to ±cap: cap · tanh(s / cap) (Gemma 2, Gemma Team 2024, section 2)."""
    return (scores / cap).tanh() * cap  # (B, H, T, S); step: cap


def add_bias(scores: Tensor, bias: Tensor) -> Tensor:
    """Add numbers that are broadcast over the scores, (B, H, T, S)."""
    return scores + bias  # (B, H, T, S); step: distance

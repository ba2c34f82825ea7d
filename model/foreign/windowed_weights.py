"""Attention weights inside a window, as Longformer and LED return them, as ordinary attention maps.

Source: Beltagy et al. 2020, "Longformer: The Long-Document Transformer", section 3.1.
"""

import torch
from torch import Tensor

__all__ = ["from_windows"]


def from_windows(weights: Tensor, global_weights: Tensor | None) -> Tensor:
    """Place each weight at its key. Keys outside the window of a query have the weight 0.

    Args:
        weights: (B, H, T, X + W + 1): of X global tokens, which are the first tokens of the text, and of the
            keys from W / 2 positions before the query to W / 2 positions after it. W is even.
        global_weights: Of the X global tokens as queries, (B, H, T or more, X), also of padding behind the text with
            the weight 0; None if X is 0.

    Returns:
        (B, H, T, T).
    """
    count = 0 if global_weights is None else global_weights.size(-1)
    tokens, near = weights.size(2), weights[..., count:]  # (B, H, T, W + 1)
    half = near.size(-1) // 2
    padded = near.new_zeros(*near.shape[:3], tokens + 2 * half)
    columns = torch.arange(tokens, device=near.device)[:, None] + torch.arange(near.size(-1), device=near.device)
    padded.scatter_(-1, columns.expand_as(near), near)
    maps = padded[..., half : half + tokens].clone()
    if global_weights is not None:
        maps[..., :count] += weights[..., :count]
        maps[:, :, :count] = global_weights[:, :, :tokens].transpose(2, 3)
    return maps

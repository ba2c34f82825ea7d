"""Attention masks. True = may attend, everywhere in the project.

A mask broadcasts over scores of shape (B, H, T, S): axis T are the queries, axis S the keys.
"""

import torch
from torch import Tensor

__all__ = ["causal_mask", "decoder_mask", "padding_mask"]


def padding_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Allow every query to attend to the keys that are not padding.

    Args:
        ids: Token ids (B, S).
        pad_id: The id of padding in short sentences.

    Returns:
        Boolean (B, 1, 1, S).
    """
    return (ids != pad_id)[:, None, None, :]  # (B, 1, 1, S)


def causal_mask(length: int, *, past: int = 0, device: torch.device | None = None) -> Tensor:
    """Allow position t to attend to positions 0 … t ("Attention Is All You Need", section 3.2.3).

    Args:
        length: T, the positions of the queries. They come after those in a cache.
        past: P, the positions in the cache.
        device: Of the mask.

    Returns:
        Boolean (1, 1, T, P + T), True on the diagonal that ends in the last corner and below it.
    """
    allowed = torch.ones(length, past + length, dtype=torch.bool, device=device).tril(past)
    return allowed[None, None]  # (1, 1, T, P + T)


def decoder_mask(ids: Tensor, pad_id: int) -> Tensor:
    """Combine both: a decoder position may attend to itself and to earlier positions that are not padding.

    The first position is never padding, whatever its id: Marian begins with `pad_id`.

    Returns:
        Boolean (B, 1, T, T).
    """
    real = padding_mask(ids, pad_id)  # (B, 1, 1, T)
    real[..., 0] = True
    return real & causal_mask(ids.size(1), device=ids.device)  # (B, 1, T, T)

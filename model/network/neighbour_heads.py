"""Heads that begin by looking at the word before and the word after, where positions are rotary."""

import math

import torch

from model.network.attention import MultiHeadAttention
from model.network.positional import RotaryPositions

__all__ = ["look_at_neighbours"]

LEAD = 3.0  # in scores, of the neighbour over those beside it: e³ is 20 times the weight


@torch.no_grad()
def look_at_neighbours(attention: MultiHeadAttention, positions: RotaryPositions) -> None:
    """Let the first head begin at the word before and the second at the word after; training may lead them elsewhere.

    In translation such heads can even be fixed (Raganato et al. 2020, "Fixed Encoder Self-Attention Patterns",
    section 3); a small encoder with few texts hardly finds them alone. A bias that is turned like a query or key scores
    by the distance alone: here Σ cos(rate · (distance - shift)) of all pairs, which is largest at the shift.
    """
    sine, cosine = positions.table[1].unflatten(-1, (-1, 2)).unbind(-1)  # (K/2,), of one position further
    strength = LEAD * math.sqrt(2 * len(cosine)) / (1 - cosine).sum()
    first = torch.stack([torch.ones_like(cosine), torch.zeros_like(sine)], dim=-1).flatten() * strength.sqrt()  # (K,)
    for head, shift in zip(range(attention.num_heads), (-1, 1), strict=False):
        rows = slice(head * len(first), (head + 1) * len(first))
        turned = torch.stack([cosine, shift * sine], dim=-1).flatten() * strength.sqrt()  # (K,)
        for projection, bias in ((attention.query_projection, turned), (attention.key_projection, first)):
            projection.weight[rows] = 0.0
            projection.bias[rows] = bias

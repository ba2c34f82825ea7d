"""Initial weights with which two heads attend to the previous and the next token, for rotary positions."""

import math

import torch

from model.network.attention import MultiHeadAttention
from model.network.positional import RotaryPositions

__all__ = ["attend_to_neighbours"]

LEAD = 3.0  # how much higher the score of the neighbour is: its weight is e³, or 20, times as large


@torch.no_grad()
def attend_to_neighbours(attention: MultiHeadAttention) -> None:
    """With rotary positions, start the first head at the previous token and the second head at the next one.

    Training may change both. In translation such heads can even stay fixed (Raganato et al. 2020, "Fixed Encoder
    Self-Attention Patterns", section 3). A small encoder with few texts rarely learns them without help. A bias is
    rotated like a query or key, so its score depends only on the distance: Σ cos(rate · (distance - shift)) over all
    pairs, largest at the shift.
    """
    positions = attention.positions
    if not isinstance(positions, RotaryPositions):
        return
    sine, cosine = positions.table[1].unflatten(-1, (-1, 2)).unbind(-1)  # (K/2,), at distance 1
    strength = LEAD * math.sqrt(2 * len(cosine)) / (1 - cosine).sum()
    first = torch.stack([torch.ones_like(cosine), torch.zeros_like(sine)], dim=-1).flatten() * strength.sqrt()  # (K,)
    for head, shift in enumerate((-1, 1)[: attention.num_heads]):
        rows = slice(head * len(first), (head + 1) * len(first))
        rotated = torch.stack([cosine, shift * sine], dim=-1).flatten() * strength.sqrt()  # (K,)
        for projection, bias in ((attention.query_projection, rotated), (attention.key_projection, first)):
            projection.weight[rows] = 0.0
            projection.bias[rows] = bias

"""The weights of a model before its training.

With rotary positions, two heads begin by attending to the previous and the next token.
"""

import math

import torch
from torch import nn

from model.config.model import LayersConfig
from model.network.attention import MultiHeadAttention
from model.network.layers import EncoderLayer
from model.network.positional import RotaryPositions

__all__ = ["initialize", "initialize_embeddings"]

LEAD = 3.0  # how much higher the score of the neighbour is: its weight is e³, or 20, times as large


@torch.no_grad()
def initialize(model: nn.Module, config: LayersConfig) -> None:
    """Xavier-uniform matrices, zero biases, scaled embeddings, and heads that begin at their neighbours if rotary."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            nn.init.xavier_uniform_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    for module in model.modules():
        # A decoder cannot attend to the next token, and heads that share keys need them for words.
        if isinstance(module, EncoderLayer) and config.num_kv_heads in (0, config.num_heads):
            attend_to_neighbours(module.self_attention)
    initialize_embeddings(model, d_model=config.d_model)


@torch.no_grad()
def initialize_embeddings(model: nn.Module, *, d_model: int) -> None:
    """Give embeddings unit variance after the factor √d_model. As output projection, logits get unit variance."""
    for module in model.modules():
        if isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=d_model**-0.5)
            module.weight[module.padding_idx].zero_()


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

"""The description of our own positions as a `PositionKind`."""

from collections.abc import Mapping

import torch
from torch import nn

from model.network.attention import MultiHeadAttention
from model.network.position_kind import PositionKind, Rotation
from model.network.positional import LearnedPositions, PositionalEncoding, RotaryPositions

__all__ = ["describe_positions"]


def describe_positions(stack: nn.Module) -> PositionKind:
    """How one of our encoders or decoders knows positions.

    Args:
        stack: The encoder or the decoder of a Transformer, of a classifier, or of a recurrent translator.
    """
    for module in stack.modules():
        if isinstance(module, PositionalEncoding):
            table = module.table.detach().cpu()
            return PositionKind(name="learned" if isinstance(module, LearnedPositions) else "sinusoidal", table=table)
    rotary: dict[int, RotaryPositions] = {}
    layers = [layer for layer in getattr(stack, "layers", ()) if hasattr(layer, "self_attention")]
    for index, layer in enumerate(layers):
        attention = layer.self_attention
        if isinstance(attention, MultiHeadAttention) and isinstance(attention.positions, RotaryPositions):
            rotary[index] = attention.positions
    if not rotary:
        return PositionKind(name="own" if layers else "recurrence")
    unaware = tuple(index for index in range(len(layers)) if index not in rotary)
    return PositionKind(name="rotary", rotations=[rotation_of(rotary)], unaware=unaware)


def rotation_of(layers: Mapping[int, RotaryPositions]) -> Rotation:
    """The rotation of layers that all use the same waves. The angles of position 1 are the frequencies."""
    table = next(iter(layers.values())).table.detach().cpu()  # (N, K)
    sine, cosine = table[1].unflatten(-1, (-1, 2)).unbind(-1)  # (K/2,)
    return Rotation(
        layers=tuple(layers),
        frequencies=torch.atan2(sine, cosine),
        pairing="neighbours",
        first=0,
        width=table.size(1),
    )

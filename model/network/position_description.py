"""The description of our own positions as a `PositionKind`."""

from collections.abc import Mapping
from typing import Literal

import torch
from torch import nn

from model.network.attention import MultiHeadAttention
from model.network.distance_bias import FARTHEST, BucketedBias, LinearBias
from model.network.position_kind import PositionKind, RelativeBias, Rotation
from model.network.positional import LearnedPositions, PositionalEncoding, RotaryPositions, SinusoidalPositions

__all__ = ["describe_positions"]


def describe_positions(stack: nn.Module) -> PositionKind:
    """How one of our encoders or decoders knows positions.

    Args:
        stack: The encoder or the decoder of a Transformer, of a classifier, or of a recurrent translator.
    """
    for module in stack.modules():
        if isinstance(module, PositionalEncoding):
            return PositionKind(name=name_of(module), table=module.table.detach().cpu())
    layers = [layer for layer in getattr(stack, "layers", ()) if hasattr(layer, "self_attention")]
    attentions = [layer.self_attention for layer in layers]
    found = [module.positions if isinstance(module, MultiHeadAttention) else None for module in attentions]
    linear = next((positions for positions in found if isinstance(positions, LinearBias)), None)
    if linear is not None:
        return PositionKind(name="alibi", slopes=linear.get_buffer("slopes").detach().cpu())
    bucketed = {index: positions for index, positions in enumerate(found) if isinstance(positions, BucketedBias)}
    if bucketed:
        return PositionKind(name="relative", biases=[bias_of(bucketed)])
    rotary = {index: positions for index, positions in enumerate(found) if isinstance(positions, RotaryPositions)}
    if not rotary:
        return PositionKind(name="none" if layers else "recurrence")
    unaware = tuple(index for index in range(len(layers)) if index not in rotary)
    return PositionKind(name="rotary", rotations=[rotation_of(rotary)], unaware=unaware)


def name_of(positions: PositionalEncoding) -> Literal["learned", "sinusoidal", "table"]:
    if isinstance(positions, LearnedPositions):
        return "learned"
    return "sinusoidal" if isinstance(positions, SinusoidalPositions) else "table"


def bias_of(layers: Mapping[int, BucketedBias]) -> RelativeBias:
    """The numbers of layers that all share one table. Larger distances have those of the farthest."""
    shared = next(iter(layers.values()))
    after = FARTHEST + 1 if shared.both_sides else 1
    distances = torch.arange(-FARTHEST, after, device=shared.device)
    return RelativeBias(
        layers=tuple(layers),
        buckets=shared.table.detach().cpu(),
        distances=distances.cpu(),
        bias=shared.by_distance(distances)[0].detach().cpu(),
    )


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

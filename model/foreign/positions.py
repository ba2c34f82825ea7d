"""Find the rotary positions of a model of Hugging Face's `transformers` by measurement.

The model reads one token several times. Then all queries are the same, except for what the positions change. The
frequencies in its modules are candidates; those that explain the recorded queries are described.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from model.foreign.sizes import run_on, tolerance_of, vocabulary_of
from model.network.residual_stream import StackName
from model.network.rotation import Rotation
from model.trace import IfPresent, hook_name, tracing, untraced

__all__ = ["find_rotations"]

TOKENS = 6
RECORDED = tuple(map(IfPresent, ("*.embedding.*", "*.queries", "*.bias")))
PAIRINGS: tuple[Literal["halves", "neighbours"], ...] = ("halves", "neighbours")


@torch.no_grad()
def find_rotations(model: PreTrainedModel, stack: StackName, layers: int) -> list[Rotation]:
    """The rotations of the encoder or the decoder, one for each group of layers that rotate alike.

    There are none where the model knows positions in another way.

    Args:
        model: A model of the library with its hook points.
        stack: "encoder" or "decoder".
        layers: How many layers it has.
    """
    ids = torch.full((1, TOKENS), vocabulary_of(model) // 2, device=model.device)
    with untraced(), tracing(record=RECORDED) as trace:
        run_on(model, ids)
    queries, biases = ([hook_name(stack, i, stage) for i in range(layers)] for stage in ("queries", "bias"))
    names = f"{stack}.embedding.sum", f"{stack}.embedding.token_vectors"
    if not {*names, queries[0]} <= {*trace.names} or {*biases} & {*trace.names}:
        return []
    total, tokens = (trace.passes(name)[0][0][:TOKENS] for name in names)  # (T, D), without padding behind the text
    if len(total) < TOKENS or total.shape != tokens.shape:  # FSMT puts the tokens first
        return []
    if not torch.equal(total, total[:1].expand_as(total)):  # the embedding adds a vector for each position
        return []
    possible = list(rotations(model, trace.passes(queries[0])[0].size(-1)))
    groups: dict[int, list[int]] = {}
    for layer, name in enumerate(queries):
        query = trace.passes(name)[0][0]  # (H, T, K)
        start = query[:, :1].expand_as(query)
        distances = [largest(query - start), *(largest(query - one.rotate(start)) for one in possible)]
        fit = min(range(len(distances)), key=distances.__getitem__)
        if distances[fit] > tolerance_of(model) * largest(query):
            return []
        if fit:
            groups.setdefault(fit - 1, []).append(layer)
    return [replace(possible[fit], layers=tuple(alike)) for fit, alike in groups.items()]


def largest(x: Tensor) -> float:
    return float(x.abs().max())


def rotations(model: nn.Module, width: int) -> Iterator[Rotation]:
    """Every rotation of queries with K = `width` that the frequencies in a model allow."""
    for module in model.modules():
        for name, frequencies in module.named_buffers(recurse=False):
            if not name.endswith("inv_freq") or "original" in name or 2 * len(frequencies) > width:
                continue
            for first in sorted({0, width - 2 * len(frequencies)}):
                for pairing in PAIRINGS:
                    yield Rotation(layers=(), frequencies=frequencies.float().cpu(), pairing=pairing, first=first)

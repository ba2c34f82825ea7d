"""Measure how a model of Hugging Face's `transformers` knows positions.

The model reads one token several times. Then all vectors are the same, except for what the positions change. Tables,
frequencies and biases of the library are candidates; one that explains the recorded vectors is described.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from model.foreign.sizes import TABLES, run_on, tolerance_of, vocabulary_of
from model.network.position_kind import PositionKind, RelativeBias, Rotation
from model.network.residual_stream import StackName
from model.trace import IfPresent, hook_name, tracing, untraced

__all__ = ["find_positions"]

TOKENS = 6
LONGEST = 160  # tokens of a text whose distances are described; T5 treats 128 and more alike
RECORDED = tuple(map(IfPresent, ("*.embedding.*", "*.queries", "*.bias")))
TableKind = Literal["learned", "sinusoidal", "table"]
PAIRINGS: tuple[Literal["halves", "neighbours"], ...] = ("halves", "neighbours")


@torch.no_grad()
def find_positions(model: PreTrainedModel, stack: StackName, layers: int) -> PositionKind:
    """How the encoder or the decoder knows positions.

    Args:
        model: A model of the library with its hook points.
        stack: "encoder" or "decoder".
        layers: How many layers it has.
    """
    with untraced(), tracing(record=RECORDED) as trace:
        read_one_token(model)
    tolerance = tolerance_of(model)
    names = f"{stack}.embedding.sum", f"{stack}.embedding.token_vectors"
    if not set(names) <= set(trace.names):
        return PositionKind(name="own")
    total, tokens = (trace.passes(name)[0][0][:TOKENS] for name in names)  # (T, D), without padding behind the text
    if len(total) < TOKENS or total.shape != tokens.shape:  # FSMT puts the tokens first
        return PositionKind(name="own")
    if not torch.equal(total, total[:1].expand_as(total)):
        # Token types and the like are the same at every position.
        added = (total - tokens) - (total - tokens)[:1]
        steps_known = hook_name(stack, 0, "queries") in trace.names
        if not steps_known and distances_count(model, stack, tolerance):
            return PositionKind(name="own")
        return table_that_fits(model, added, tolerance * largest(total))
    if hook_name(stack, 0, "queries") not in trace.names:
        return alibi(model, tolerance)
    queries = [trace.passes(hook_name(stack, layer, "queries"))[0][0] for layer in range(layers)]  # (H, T, K) each
    biases = {
        layer: trace.passes(name)[0][0]  # (H, T, T)
        for layer in range(layers)
        if (name := hook_name(stack, layer, "bias")) in trace.names
    }
    return relative(model, biases, tolerance) if biases else rotary(model, queries, tolerance)


def read_one_token(model: PreTrainedModel, **settings: Any) -> Any:
    """The output of a model for one token that comes several times."""
    ids = torch.full((1, TOKENS), vocabulary_of(model) // 2, device=model.device)
    return run_on(model, ids, **settings)


def distances_count(model: PreTrainedModel, stack: StackName, tolerance: float) -> bool:
    """Whether the first layer of a read-only model attends unevenly to equal vectors (MPNet, beside its table)."""
    tokens: list[Tensor] = []

    def keep(vectors: Tensor) -> Tensor:
        tokens.append(vectors)
        return vectors

    def without_positions(total: Tensor) -> Tensor:
        return torch.cat(tokens, dim=1)[:, -total.size(1) :]  # LED reads its padding separately

    edits = {f"{stack}.embedding.token_vectors": keep, f"{stack}.embedding.sum": without_positions}
    name = hook_name(stack, 0, "weights")
    with tracing(record=(name,), edits=edits) as trace:
        read_one_token(model)
    weights = trace.passes(name)[0][0]  # (H, T, T)
    allowed = weights > 0
    return largest(weights - allowed / allowed.sum(dim=-1, keepdim=True)) > tolerance


def largest(x: Tensor) -> float:
    return float(x.abs().max())


def table_that_fits(model: nn.Module, added: Tensor, limit: float) -> PositionKind:
    """The table of the model whose rows are what is added (T, D). It may begin after rows for padding (RoBERTa)."""
    distances: list[tuple[float, int, Tensor, TableKind]] = []
    for table, kind in tables(model):
        rows = table[: TOKENS + 3].float().cpu()
        for start in range(max(0, len(rows) - TOKENS + 1)):
            row = rows[start : start + TOKENS]
            if row.shape == added.shape:
                distances.append((largest(added - (row - row[:1])), start, table, kind))
    distance, start, table, kind = min(distances, key=lambda one: one[0], default=(math.inf, 0, added, "learned"))
    if distance > limit:
        return PositionKind(name="own")
    return PositionKind(name=kind, table=table[start:].float().cpu())


def tables(model: nn.Module) -> Iterator[tuple[Tensor, TableKind]]:
    """Each table of positions, and what it is."""
    for name, module in model.named_modules():
        waves = "Sinusoidal" in type(module).__name__
        weight = getattr(module, "weight", getattr(module, "weights", None))
        if (waves or name.endswith(TABLES)) and isinstance(weight, Tensor) and weight.dim() == 2:
            learned = isinstance(weight, nn.Parameter)
            yield weight.detach(), "sinusoidal" if waves else "learned" if learned else "table"
    for name, buffer in model.named_buffers():
        if name.endswith("pos_encoding"):  # CTRL
            yield buffer, "sinusoidal"


def relative(model: nn.Module, biases: Mapping[int, Tensor], tolerance: float) -> PositionKind:
    """The tables of T5, which its layers share, or of UMT5, with one table in each layer."""
    found: list[RelativeBias] = []
    for module in model.modules():
        learned = getattr(module, "relative_attention_bias", None)
        if not isinstance(learned, nn.Embedding):
            continue
        compute: Any = module
        bias = compute.compute_bias(LONGEST, LONGEST)[0].float().cpu()  # (H, T, S)
        fits = tuple(
            layer
            for layer, shown in biases.items()
            if len(shown) == len(bias) and largest(shown - bias[:, :TOKENS, :TOKENS]) <= tolerance * largest(shown)
        )
        if fits:
            by_distance = torch.cat([bias[:, -1, :-1], bias[:, 0]], dim=1)  # (H, P)
            distances = torch.arange(1 - LONGEST, LONGEST)
            buckets = learned.weight.detach().float().cpu()
            found.append(RelativeBias(layers=fits, buckets=buckets, distances=distances, bias=by_distance))
    explained = {layer for one in found for layer in one.layers}
    return PositionKind(name="relative", biases=found) if explained == set(biases) else PositionKind(name="own")


def alibi(model: PreTrainedModel, tolerance: float) -> PositionKind:
    """The slopes of the heads, from the weights of a model that computes attention in its own way (BLOOM, MPT).

    All products of queries and keys are the same, so the logarithms of the weights differ only by the distances.
    """
    weights = getattr(read_one_token(model, output_attentions=True), "attentions", None)
    if not weights or any(layer is None or layer.dim() != 4 for layer in weights):
        return PositionKind(name="own")
    steps = torch.stack([layer[0, :, -1].float().cpu().log().diff(dim=-1) for layer in weights])  # (L, H, T − 1)
    slopes = steps.mean(dim=(0, 2))  # (H,)
    if not bool(torch.isfinite(steps).all()) or largest(steps - slopes[:, None]) > 100 * tolerance * largest(slopes):
        return PositionKind(name="own")
    return PositionKind(name="alibi", slopes=slopes)


def rotary(model: nn.Module, queries: Sequence[Tensor], tolerance: float) -> PositionKind:
    """The rotations of the layers, from their queries (H, T, K)."""
    groups: dict[int, list[int]] = {}
    unaware = []
    possible = list(rotations(model, queries[0].size(-1)))
    for layer, query in enumerate(queries):
        start, limit = query[:, :1].expand_as(query), tolerance * largest(query)
        distances = [largest(query - start), *(largest(query - one.rotate(start)) for one in possible)]
        fit = min(range(len(distances)), key=distances.__getitem__)
        if distances[fit] > limit:
            return PositionKind(name="own")
        if fit == 0:
            unaware.append(layer)
        else:
            groups.setdefault(fit - 1, []).append(layer)
    found = [replace(possible[fit], layers=tuple(layers)) for fit, layers in groups.items()]
    return PositionKind(name="rotary" if found else "none", rotations=found, unaware=tuple(unaware) if found else ())


def rotations(model: nn.Module, width: int) -> Iterator[Rotation]:
    """Every rotation that the frequencies in a model allow."""
    for module in model.modules():
        for name, frequencies in module.named_buffers(recurse=False):
            if not name.endswith("inv_freq") or "original" in name or 2 * len(frequencies) > width:
                continue
            kind = getattr(module, "rope_type", "default")
            scaling = kind.get(name.removesuffix("_inv_freq"), "default") if isinstance(kind, dict) else kind
            for first in sorted({0, width - 2 * len(frequencies)}):
                for pairing in PAIRINGS:
                    yield Rotation(
                        layers=(),
                        frequencies=frequencies.float().cpu(),
                        pairing=pairing,
                        first=first,
                        width=width,
                        scaling=str(scaling),
                    )

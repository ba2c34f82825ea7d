"""Measure how a model of Hugging Face's `transformers` knows positions.

The model reads one token several times. Then all vectors are the same, except for what the positions change. Tables,
frequencies and biases of the library are candidates; one that explains the recorded vectors is described.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from model.foreign.sizes import TABLES
from model.foreign.stream_hooks import StackName
from model.network.position_kind import PositionKind, RelativeBias, Rotation
from model.trace import Trace, hook_name, tracing

__all__ = ["find_positions"]

TOKENS = 6
LONGEST = 160  # tokens of a text whose distances are described; T5 treats 128 and more alike
TOLERANCES = {torch.float64: 1e-6, torch.float32: 1e-4}  # relative to the largest number
HALF = 5e-2
PAIRINGS: tuple[Literal["halves", "neighbours"], ...] = ("halves", "neighbours")


@torch.no_grad()
def find_positions(model: PreTrainedModel, stack: StackName, layers: int) -> PositionKind:
    """How the encoder or the decoder knows positions.

    Args:
        model: A model of the library with its hook points.
        stack: "encoder" or "decoder".
        layers: How many layers it has.
    """
    trace = record(model)
    tolerance = TOLERANCES.get(model.dtype, HALF)
    added = added_by_position(trace, stack)
    if added is not None and not is_constant(added, tolerance):
        return next(tables_that_fit(model, added, tolerance), PositionKind(name="own"))
    queries = [trace.passes(hook_name(stack, layer, "queries"))[0][0] for layer in range(layers)]  # (H, T, K) each
    biases = {
        layer: trace.passes(name)[0][0]  # (H, T, T)
        for layer in range(layers)
        if (name := hook_name(stack, layer, "bias")) in trace.names
    }
    if biases:
        return relative(model, biases, tolerance)
    return rotary(model, queries, tolerance) if added is not None else PositionKind(name="own")


def record(model: PreTrainedModel) -> Trace:
    table = model.get_input_embeddings()
    assert isinstance(table, nn.Embedding)
    ids = torch.full((1, TOKENS), table.num_embeddings // 2, device=model.device)
    with tracing(record=("*.embedding.*", "*.queries", "*.bias")) as trace:
        if model.config.is_encoder_decoder:
            model(input_ids=ids, decoder_input_ids=ids)
        else:
            model(input_ids=ids)
    return trace


def added_by_position(trace: Trace, stack: str) -> Tensor | None:
    """What is added to the token vectors, minus what is added to the first one, (T, D); None if it is not recorded."""
    names = f"{stack}.embedding.sum", f"{stack}.embedding.token_vectors"
    if not set(names) <= set(trace.names):
        return None
    total, tokens = (trace.passes(name)[0][0] for name in names)
    return (total - tokens) - (total - tokens)[:1]


def is_constant(x: Tensor, tolerance: float) -> bool:
    """Whether all rows of (…, T, K) are the same."""
    return bool((x - x[..., :1, :]).abs().max() <= tolerance * max(1.0, float(x.abs().max())))


def is_near(x: Tensor, y: Tensor, tolerance: float) -> bool:
    return x.shape == y.shape and bool((x - y).abs().max() <= tolerance * float(y.abs().max()))


def tables_that_fit(model: nn.Module, added: Tensor, tolerance: float) -> Iterator[PositionKind]:
    """Tables of the model whose rows are what is added. Some begin after rows for padding (BART, RoBERTa)."""
    for table, fixed in tables(model):
        for start in range(min(4, len(table) - TOKENS + 1)):
            rows = table[start:].float().cpu()
            if is_near(added, rows[:TOKENS] - rows[:1], tolerance):
                yield PositionKind(name="sinusoidal" if fixed else "learned", table=rows)


def tables(model: nn.Module) -> Iterator[tuple[Tensor, bool]]:
    """Each table of positions, and whether it is computed and not learned."""
    for name, module in model.named_modules():
        fixed = "Sinusoidal" in type(module).__name__
        weight = getattr(module, "weight", getattr(module, "weights", None))
        if (fixed or name.endswith(TABLES)) and isinstance(weight, Tensor) and weight.dim() == 2:
            yield weight.detach(), fixed
    for name, buffer in model.named_buffers():
        if name.endswith("pos_encoding"):  # CTRL
            yield buffer, True


def relative(model: nn.Module, biases: Mapping[int, Tensor], tolerance: float) -> PositionKind:
    """The tables of T5, which its layers share, or of UMT5, with one table in each layer."""
    found: list[RelativeBias] = []
    for module in model.modules():
        learned = getattr(module, "relative_attention_bias", None)
        if not isinstance(learned, nn.Embedding):
            continue
        compute: Any = module
        bias = compute.compute_bias(LONGEST, LONGEST)[0].float().cpu()  # (H, T, S)
        fits = tuple(layer for layer, shown in biases.items() if is_near(shown, bias[:, :TOKENS, :TOKENS], tolerance))
        if fits:
            by_distance = torch.cat([bias[:, -1, :-1], bias[:, 0]], dim=1)  # (H, P)
            distances = torch.arange(1 - LONGEST, LONGEST)
            buckets = learned.weight.detach().float().cpu()
            found.append(RelativeBias(layers=fits, buckets=buckets, distances=distances, bias=by_distance))
    explained = {layer for one in found for layer in one.layers}
    return PositionKind(name="relative", biases=found) if explained == set(biases) else PositionKind(name="own")


def rotary(model: nn.Module, queries: Sequence[Tensor], tolerance: float) -> PositionKind:
    """The rotations of the layers, from their queries (H, T, K)."""
    groups: dict[int, list[int]] = {}
    unaware = []
    width = queries[0].size(-1)
    possible = list(rotations(model, width))
    for layer, query in enumerate(queries):
        if is_constant(query, tolerance):
            unaware.append(layer)
            continue
        start = query[:, :1].expand_as(query)
        fit = next((i for i, one in enumerate(possible) if is_near(query, one.rotate(start), tolerance)), None)
        if fit is None:
            return PositionKind(name="own")
        groups.setdefault(fit, []).append(layer)
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

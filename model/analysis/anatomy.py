"""One attention layer taken apart: every tensor between its input and its output, and each step computed again.

The tensors come from the run that wrote a translation. `derive` repeats the computation step by step from the recorded
queries, keys and values, so that a reader can follow it. It also returns the difference from the model's own tensors.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from model.analysis.attention_values import attend
from model.analysis.availability import require_attention_steps, require_values
from model.analysis.station import largest_difference
from model.config.section import ConfigError
from model.decoding.decoder_state import NOTHING_FORCED
from model.inference.run import AnyCheckpoint, Run, record_run
from model.inference.translation import Recording, Translation
from model.messages import N_
from model.network.protocols import Reads
from model.text.pair import Text
from model.trace import IfPresent, hook_name

__all__ = ["Anatomy", "Derivation", "Mixing", "anatomy", "derive", "sharing_heads", "value_norms", "why_no_mixing"]

FloatArray = NDArray[np.float32]
STAGES = ("queries", "keys", "values", "masked_scores", "head_outputs", "output")


@dataclass(frozen=True, kw_only=True)
class Mixing:
    """How the output projection combines the head outputs of a layer."""

    projection: FloatArray  # W_O as in the formula, (H·K, D): the rows from h·K belong to head h
    bias: FloatArray  # (D,)
    output: FloatArray  # (T, D), as recorded


@dataclass(frozen=True, kw_only=True)
class Anatomy:
    """The tensors of one attention layer in the run that wrote a translation."""

    queries: FloatArray  # (H, T, K)
    keys: FloatArray  # (H, S, K)
    values: FloatArray  # (H, S, K)
    allowed: NDArray[np.bool_]  # (T, S): False where masked
    weights: FloatArray  # (H, T, S)
    head_outputs: FloatArray  # (H, T, K)
    distances: FloatArray | None  # (H, T, S): added to the scores for the distance of query and key (T5, ALiBi)
    scaling: float  # the factor of the dot products: 1/√K, or 1 in T5
    cap: float | None  # the limit of the scores
    sinks: FloatArray | None  # (H,): the scores of the sinks
    sharing: int  # how many neighbouring heads share their keys and values; 1 if none do
    mixing: Mixing | None  # None where the output needs more than one matrix
    no_mixing_reason: str = ""  # why `mixing` is None


@dataclass(frozen=True, kw_only=True)
class Derivation:
    """One query of one head, step by step."""

    products: FloatArray  # (S, K): elementwise q·k
    dots: FloatArray  # (S,)
    scaled: FloatArray  # (S,)
    capped: FloatArray | None  # (S,): after the limit, if there is one
    scores: FloatArray  # (S,): with the number for the distance, divided by the temperature
    masked: FloatArray  # (S,): minus infinity where masked
    weights: FloatArray  # (S,)
    sink: float | None  # the share of the sink: what the weights lack to 1; None without a sink
    weighted_values: FloatArray  # (S, K)
    head_output: FloatArray  # (K,)
    concatenated: FloatArray  # (H·K,): all heads; the others as recorded
    output: FloatArray | None  # (D,); None without `Anatomy.mixing`
    differences: Mapping[str, float]  # stage → largest difference from the model's own tensor


def anatomy(
    checkpoint: AnyCheckpoint, text: Text, kind: str, layer: int, *, forced: Mapping[int, int] = NOTHING_FORCED
) -> tuple[Translation, Anatomy]:
    """Run a model over a text and keep the tensors of one attention layer.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        text: Any text.
        kind: One of `KINDS`.
        layer: Counted from 0.
        forced: Position → target id that is written there, whatever its probability.

    Raises:
        ConfigError: the checkpoint does not compute scaled dot products, or its model is read-only.
    """
    require_attention_steps(checkpoint.model)
    config = checkpoint.model.config
    if config.attention != "scaled_dot_product":
        raise ConfigError(
            "{checkpoint} uses {attention} attention, which has no dot products to follow. Choose a model "
            "with scaled dot products.",
            checkpoint=checkpoint.name,
            attention=config.attention,
        )
    names = {stage: hook_name(kind, layer, stage) for stage in STAGES}
    run = Run(text=text, forced=tuple(forced.items()))
    names_to_record = tuple(map(IfPresent, (*names.values(), hook_name(kind, layer, "bias"))))
    translation, recording = record_run(checkpoint, run, record=names_to_record)
    recorded = {stage: recording.array(name) for stage, name in names.items() if stage != "output"}
    mixing, no_mixing_reason = mixing_of(checkpoint, kind, layer, recording)
    biased = hook_name(kind, layer, "bias")
    sinks = checkpoint.model.sinks(kind, layer)
    return translation, Anatomy(
        queries=recorded["queries"],
        keys=recorded["keys"],
        values=recorded["values"],
        allowed=~np.isneginf(recorded["masked_scores"][0]),
        weights=translation.maps[kind][layer],
        head_outputs=recorded["head_outputs"],
        distances=recording.array(biased) if biased in recording.trace.names else None,
        scaling=checkpoint.model.scaling(kind, layer),
        cap=checkpoint.model.score_cap(kind, layer),
        sinks=None if sinks is None else sinks.float().cpu().numpy(),
        sharing=sharing_heads(recorded["keys"]),
        mixing=mixing,
        no_mixing_reason=no_mixing_reason,
    )


def sharing_heads(keys: NDArray[Any]) -> int:
    """How many neighbouring heads have the same keys (H, S, K), because they share them (Ainslie et al. 2023)."""
    same = [np.array_equal(keys[0], other) for other in keys]
    return same.index(False) if False in same else len(keys)


def mixing_of(checkpoint: AnyCheckpoint, kind: str, layer: int, recording: Recording) -> tuple[Mixing | None, str]:
    """How a layer combines its heads; or None, and the reason why this cannot be shown."""
    try:
        mixing = checkpoint.model.mixing(kind, layer)
    except ConfigError as error:
        return None, error.message
    return Mixing(
        projection=mixing.matrix.cpu().numpy(),
        bias=mixing.bias.cpu().numpy(),
        output=recording.array(hook_name(kind, layer, "output")),
    ), ""


def why_no_mixing(model: Reads) -> str:
    """Why the contribution of a single head cannot be separated in some layer of a model; "" where it can."""
    try:
        for kind in model.config.kinds:
            for layer in range(model.config.num_layers(kind)):
                model.mixing(kind, layer)
    except ConfigError as error:
        return error.message
    return ""


def derive(parts: Anatomy, head: int, query: int, *, scale: bool = True, temperature: float = 1.0) -> Derivation:
    """Compute one query of one head from the recorded queries, keys and values.

    Args:
        parts: From `anatomy`.
        head: Counted from 0.
        query: Row of the map, counted from 0.
        scale: Multiply by the model's scaling factor; False leaves it out.
        temperature: The scores are also divided by it; the model uses 1.
    """
    one = slice(head, head + 1)  # `attend` reads the heads of a layer, here a single one
    sinks = None if parts.sinks is None else torch.tensor(parts.sinks[one])
    values = attend(
        parts.queries[one, query],
        parts.keys[one],
        parts.values[one],
        allowed=parts.allowed[query],
        scaling=parts.scaling if scale else 1.0,
        cap=parts.cap,
        bias=None if parts.distances is None else parts.distances[one, query],
        sinks=sinks,
        temperature=temperature,
    )
    products = parts.queries[head, query] * parts.keys[head]  # (S, K)
    weights, head_output = values.weights[0], values.heads[0]  # (S,), (K,)
    heads = parts.head_outputs[:, query].copy()  # (H, K)
    heads[head] = head_output
    concatenated = heads.ravel()  # (H·K,)
    mixing = parts.mixing
    output = None if mixing is None else concatenated @ mixing.projection + mixing.bias  # (D,)
    return Derivation(
        products=products,
        dots=products.sum(axis=-1),
        scaled=values.products[0],
        capped=None if parts.cap is None else values.capped[0],
        scores=values.scores[0],
        masked=values.masked[0],
        weights=weights,
        sink=None if sinks is None else 1 - float(weights.sum()),
        weighted_values=values.weighted_values[0],
        head_output=head_output,
        concatenated=concatenated,
        output=output,
        differences={
            N_("weights"): largest_difference(weights, parts.weights[head, query]),
            N_("head output"): largest_difference(head_output, parts.head_outputs[head, query]),
        }
        | (
            {}
            if mixing is None or output is None
            else {N_("layer output"): largest_difference(output, mixing.output[query])}
        ),
    )


def value_norms(
    checkpoint: AnyCheckpoint, text: Text, *, forced: Mapping[int, int] = NOTHING_FORCED
) -> tuple[Translation, dict[str, FloatArray]]:
    """The length of each value vector after its head's part of the output projection: ‖v W_O‖.

    Multiplied by the attention weights, it gives ‖αf(x)‖ of Kobayashi et al. (2020, "Attention is Not Only a
    Weight"): the length of the vector that a key adds.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        text: Any text.
        forced: Position → target id that is written there, whatever its probability.

    Returns:
        The translation, and kind → lengths (L, H, S).

    Raises:
        ConfigError: the model has no value vectors, or its output needs more than one matrix.
    """
    require_values(checkpoint)
    model = checkpoint.model
    names = {
        kind: [hook_name(kind, layer, "values") for layer in range(model.config.num_layers(kind))]
        for kind in model.config.kinds
    }
    all_names = [name for layers in names.values() for name in layers]
    run = Run(text=text, forced=tuple(forced.items()))
    translation, recording = record_run(checkpoint, run, record=all_names)

    def norms(kind: str, layer: int, name: str) -> FloatArray:
        values = recording.array(name)  # (H, S, K)
        matrix = model.mixing(kind, layer).matrix.cpu().numpy()  # (H·K, D)
        projection = matrix.reshape(len(values), -1, matrix.shape[1])  # (H, K, D)
        return np.asarray(np.linalg.norm(values @ projection, axis=-1), dtype=np.float32)  # (H, S)

    return translation, {
        kind: np.stack([norms(kind, layer, name) for layer, name in enumerate(layers)])
        for kind, layers in names.items()
    }

"""One attention layer taken apart: every tensor between its input and its output, and each step computed again.

`attend` is the only function that repeats the computation from the recorded queries, keys and values. `derive` calls it
with one head in the precision of the recording, and the station of attention with all heads in double precision. Both
return the difference from the model's own tensors.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.availability import require_attention_steps, require_values
from model.analysis.followed import Followed, largest_difference
from model.checkpoints.checkpoint import Loaded
from model.config.section import ConfigError
from model.inference.passes import record_again
from model.inference.run import FloatArray, RecordedArrays
from model.messages import N_
from model.network.attention import attention_weights
from model.network.protocols import Reads
from model.network.scores import attention_scores
from model.trace import IfPresent, hook_name

__all__ = [
    "Anatomy",
    "AttentionValues",
    "Derivation",
    "Floats",
    "Mixing",
    "anatomy",
    "attend",
    "derive",
    "layer_in",
    "require_mixing",
    "value_norms",
]

Floats = NDArray[np.floating[Any]]
STAGES = ("queries", "keys", "values", "bias", "masked_scores", "weights", "head_outputs", "output")


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


def anatomy(text: Followed, kind: str, layer: int) -> Anatomy:
    """The tensors of one attention layer, over the tokens that a run wrote, with the model as trained.

    Args:
        text: The run. Its model runs again.
        kind: One of `KINDS`.
        layer: Counted from 0.

    Raises:
        ConfigError: the checkpoint does not compute scaled dot products, or its model is read-only.
    """
    checkpoint, model = text.checkpoint, text.model
    require_attention_steps(model)
    if model.config.attention != "scaled_dot_product":
        raise ConfigError(
            "{checkpoint} uses {attention} attention, which has no dot products to follow. Choose a model "
            "with scaled dot products.",
            checkpoint=checkpoint.name,
            attention=model.config.attention,
        )
    names = tuple(IfPresent(hook_name(kind, layer, stage)) for stage in STAGES)
    recording = record_again(model, text.result, names).arrays()
    return layer_in(recording, model, kind, layer, recording.array(hook_name(kind, layer, "weights")))


def layer_in(recording: RecordedArrays, model: Reads, kind: str, layer: int, weights: FloatArray) -> Anatomy:
    """The tensors of one attention layer with these weights (H, T, S), out of a recording of its other hook points."""
    names = {stage: hook_name(kind, layer, stage) for stage in STAGES}
    recorded = {stage: recording.arrays[name] for stage, name in names.items() if name in recording.arrays}
    mixing, no_mixing_reason = None, ""
    try:
        found = model.mixing(kind, layer)
        mixing = Mixing(projection=found.matrix.cpu().numpy(), bias=found.bias.cpu().numpy(), output=recorded["output"])
    except ConfigError as error:
        no_mixing_reason = error.message
    scoring = model.scoring(kind, layer)
    return Anatomy(
        queries=recorded["queries"],
        keys=recorded["keys"],
        values=recorded["values"],
        allowed=~np.isneginf(recorded["masked_scores"][0]),
        weights=weights,
        head_outputs=recorded["head_outputs"],
        distances=recorded.get("bias"),
        scaling=scoring.scaling,
        cap=scoring.cap,
        sinks=None if scoring.sinks is None else scoring.sinks.float().cpu().numpy(),
        sharing=sharing_heads(recorded["keys"]),
        mixing=mixing,
        no_mixing_reason=no_mixing_reason,
    )


def sharing_heads(keys: Floats) -> int:
    """How many neighbouring heads have the same keys (H, S, K), because they share them (Ainslie et al. 2023)."""
    same = [np.array_equal(keys[0], other) for other in keys]
    return same.index(False) if False in same else len(keys)


@dataclass(frozen=True, kw_only=True)
class AttentionValues:
    """The results of the steps for one query."""

    query: Floats  # (H, K)
    products: Floats  # (H, S): the scores before the limit and the distance
    capped: Floats  # (H, S): after the limit, before the distance
    scores: Floats  # (H, S): with the number for the distance, divided by the temperature
    masked: Floats  # (H, S): minus infinity where the query may not attend
    weights: Floats  # (H, S)
    weighted_values: Floats  # (H, S, K)
    heads: Floats  # (H, K)


def attend(
    query: Floats,
    keys: Floats,
    values: Floats,
    *,
    allowed: NDArray[np.bool_],
    scaling: float,
    cap: float | None = None,
    bias: Floats | None = None,
    vector: Tensor | None = None,
    sinks: Tensor | None = None,
    temperature: float = 1.0,
) -> AttentionValues:
    """The steps of attention for one query, in the precision of the arrays.

    Args:
        query: (H, K).
        keys: (H, S, K).
        values: (H, S, K).
        allowed: False where the query may not attend, (S,) or (H, S).
        scaling: The factor of the products q·k.
        cap: The limit of the scores, see `cap_scores`.
        bias: What is added to the scores for the distance of query and key, (H, S).
        vector: One v for each head, (H, K): then the scores are additive.
        sinks: The scores of the sinks, (H,).
        temperature: The scores and those of the sinks are divided by it; models use 1.
    """
    # Recorded arrays cannot be written, and PyTorch wants a copy of such an array.
    asked, given = torch.tensor(query)[None, :, None], torch.tensor(keys)[None]  # (1, H, 1, K), (1, H, S, K)
    added = None if bias is None else torch.tensor(bias)[:, None]  # (H, 1, S)

    def scored(cap: float | None = None, bias: Tensor | None = None) -> Floats:
        scores = attention_scores(asked, given, scaling=scaling, cap=cap, bias=bias, vector=vector)
        found: Floats = scores[0, :, 0].numpy()
        return found

    scores = scored(cap, added) / query.dtype.type(temperature)
    masked = np.where(allowed, scores, query.dtype.type(-np.inf))
    divided = None if sinks is None else sinks / temperature
    weights: Floats = attention_weights(torch.from_numpy(masked)[None, :, None], divided)[0, :, 0].numpy()
    weighted_values = weights[:, :, None] * values
    return AttentionValues(
        query=query,
        products=scored(),
        capped=scored(cap),
        scores=scores,
        masked=masked,
        weights=weights,
        weighted_values=weighted_values,
        heads=weighted_values.sum(axis=1),
    )


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
    differences = {
        N_("weights"): largest_difference(weights, parts.weights[head, query]),
        N_("head output"): largest_difference(head_output, parts.head_outputs[head, query]),
    }
    output = None  # (D,)
    if (mixing := parts.mixing) is not None:
        output = concatenated @ mixing.projection + mixing.bias
        differences[N_("layer output")] = largest_difference(output, mixing.output[query])
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
        differences=differences,
    )


def value_norms(text: Followed) -> dict[str, FloatArray]:
    """The length of each value vector after its head's part of the output projection: ‖v W_O‖.

    Multiplied by the attention weights, it gives ‖αf(x)‖ of Kobayashi et al. (2020, "Attention is Not Only a
    Weight"): the length of the vector that a key adds.

    Args:
        text: The run. Its model runs again, as trained, over the tokens that the run wrote.

    Returns:
        Kind → lengths (L, H, S).

    Raises:
        ConfigError: the model has no value vectors, or its output needs more than one matrix.
    """
    require_values(text.checkpoint)
    model, config = text.model, text.model.config
    names = {
        kind: [hook_name(kind, layer, "values") for layer in range(config.num_layers(kind))] for kind in config.kinds
    }
    recording = record_again(model, text.result, [name for layers in names.values() for name in layers])

    def norms(kind: str, layer: int, name: str) -> FloatArray:
        values = recording.array(name)  # (H, S, K)
        matrix = model.mixing(kind, layer).matrix.cpu().numpy()  # (H·K, D)
        projection = matrix.reshape(len(values), -1, matrix.shape[1])  # (H, K, D)
        return np.asarray(np.linalg.norm(values @ projection, axis=-1), dtype=np.float32)  # (H, S)

    return {
        kind: np.stack([norms(kind, layer, name) for layer, name in enumerate(layers)])
        for kind, layers in names.items()
    }


def require_mixing(checkpoint: Loaded) -> None:
    """Require that the contribution of a single head can be separated in every layer.

    Raises:
        ConfigError: some layer does more than multiply the head outputs with one matrix.
    """
    for kind, layer in checkpoint.model.config.attention_layers:
        checkpoint.model.mixing(kind, layer)

"""One attention layer taken apart: every tensor between its input and its output, and each step computed again.

`derive` repeats the computation step by step from the recorded queries, keys and values, so that a reader can follow
it. It also returns the difference from the model's own tensors.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from model.analysis.attention_station import attend, sharing_heads
from model.analysis.availability import require_attention_steps, require_values
from model.analysis.followed import Followed, largest_difference
from model.checkpoints.checkpoint import Loaded
from model.config.section import ConfigError
from model.inference.one_pass import record_again
from model.messages import N_
from model.trace import IfPresent, hook_name

__all__ = ["Anatomy", "Derivation", "Mixing", "anatomy", "derive", "require_mixing", "value_norms"]

FloatArray = NDArray[np.float32]
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
    names = {stage: hook_name(kind, layer, stage) for stage in STAGES}
    arrays = record_again(model, text.result, tuple(map(IfPresent, names.values()))).arrays().arrays
    recorded = {stage: arrays[name] for stage, name in names.items() if name in arrays}
    mixing, no_mixing_reason = None, ""
    try:
        found = model.mixing(kind, layer)
        mixing = Mixing(projection=found.matrix.cpu().numpy(), bias=found.bias.cpu().numpy(), output=recorded["output"])
    except ConfigError as error:
        no_mixing_reason = error.message
    sinks = model.sinks(kind, layer)
    return Anatomy(
        queries=recorded["queries"],
        keys=recorded["keys"],
        values=recorded["values"],
        allowed=~np.isneginf(recorded["masked_scores"][0]),
        weights=recorded["weights"],
        head_outputs=recorded["head_outputs"],
        distances=recorded.get("bias"),
        scaling=model.scaling(kind, layer),
        cap=model.score_cap(kind, layer),
        sinks=None if sinks is None else sinks.float().cpu().numpy(),
        sharing=sharing_heads(recorded["keys"]),
        mixing=mixing,
        no_mixing_reason=no_mixing_reason,
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
    config = checkpoint.model.config
    for kind in config.kinds:
        for layer in range(config.num_layers(kind)):
            checkpoint.model.mixing(kind, layer)

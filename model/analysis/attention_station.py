"""Attention as a station: every step from the query vector to the output, computed again for one position."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.analysis.source_code import CodeLine, function_code
from model.analysis.station import (
    Station,
    Step,
    format_length,
    head_matrices,
    largest_difference,
    recorded_at,
    to_float32,
    to_float64,
)
from model.analysis.streams import FloatArray
from model.inference.translation import Recording, Translation
from model.network.attention import (
    MultiHeadAttention,
    additive_scores,
    attention_weights,
    mask_scores,
    scaled_dot_product_scores,
)
from model.network.transformer import Transformer
from model.trace import hook_name

__all__ = ["AttentionSite", "attention_station"]


@dataclass(frozen=True, kw_only=True)
class AttentionSite:
    """One position in one attention sublayer of a recorded translation."""

    model: Transformer
    recording: Recording
    translation: Translation
    kind: str  # one of `KINDS`
    layer: int  # counted from 0
    position: int  # of the query, counted from 0

    @property
    def attention(self) -> MultiHeadAttention:
        """The module of the sublayer."""
        module = self.model.get_submodule(self.hook("output").removesuffix(".output"))
        assert isinstance(module, MultiHeadAttention)
        return module

    def hook(self, stage: str) -> str:
        """The name of a hook point of this sublayer."""
        return hook_name(self.kind, self.layer, stage)

    def recorded(self, stage: str) -> FloatArray:
        """What the model computed at this position, in double precision."""
        return recorded_at(self.recording, self.hook(stage), self.position)


@dataclass(frozen=True, kw_only=True)
class AttentionValues:
    """The results of the steps for one query, in double precision."""

    query: FloatArray  # (H, K)
    scores: FloatArray  # (H, S)
    masked: NDArray[np.bool_]  # (H, S): True where the query may not attend
    weights: FloatArray  # (H, S)
    heads: FloatArray  # (H, K)
    output: FloatArray  # (D,)


def attention_station(site: AttentionSite, x: FloatArray, *, name: str) -> Station:
    """Compute attention again for one query, and compare each step with the model's own.

    Args:
        site: The position and the sublayer.
        x: The vector that the query is computed from, (D,).
        name: Of the station, for a person.
    """
    values = compute(site, x)
    return Station(
        name=name,
        formula=station_formula(site),
        vector=to_float32(values.output),
        difference=difference_from_model(site, values),
        steps=attention_steps(site, values),
        code=attention_code(site.attention),
    )


def compute(site: AttentionSite, x: FloatArray) -> AttentionValues:
    """The steps in double precision, from `x` (D,) and the model's own keys, values and mask."""
    attention = site.attention
    keys, values = (
        site.recording.array(site.hook(stage)).astype(np.float64) for stage in ("keys", "values")
    )  # (H, S, K)
    projection = attention.query_projection
    query = (to_float64(projection.weight) @ x + to_float64(projection.bias)).reshape(len(keys), -1)  # (H, K)
    if attention.score_vector is None:
        scores = np.einsum("hk,hsk->hs", query, keys) / np.sqrt(query.shape[1])
    else:
        scores = np.einsum("hsk,hk->hs", np.tanh(query[:, None] + keys), to_float64(attention.score_vector))
    masked = np.isneginf(site.recorded("masked_scores"))  # (H, S)
    masked_scores = np.where(masked, -np.inf, scores)
    exponentials = np.exp(masked_scores - masked_scores.max(axis=1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)  # (H, S)
    heads = np.einsum("hs,hsk->hk", weights, values)
    matrices, bias = head_matrices(site.model, site.kind, site.layer)
    output = np.einsum("hk,hkd->d", heads, matrices) + bias
    return AttentionValues(query=query, scores=scores, masked=masked, weights=weights, heads=heads, output=output)


def difference_from_model(site: AttentionSite, values: AttentionValues) -> float:
    """The largest difference of any step from the model's own tensor."""
    weights = site.translation.maps[site.kind][site.layer][:, site.position].astype(np.float64)
    return max(
        largest_difference(values.query, site.recorded("queries")),
        largest_difference(values.scores, site.recorded("scores")),
        largest_difference(values.weights, weights),
        largest_difference(values.heads, site.recorded("head_outputs")),
        largest_difference(values.output, site.recorded("output")),
    )


def station_formula(site: AttentionSite) -> str:
    """The whole sublayer in LaTeX. In cross-attention, keys and values come from the encoder's output."""
    encoder = r"^{\mathrm{enc}}" if site.kind == "cross" else ""
    dot_product = rf"\tfrac{{q_h K_h{encoder}{{}}^\top}}{{\sqrt{{d_k}}}}"
    additive = rf"v^\top\tanh(q_h + K_h{encoder})"
    scores = dot_product if site.attention.score_vector is None else additive
    softmax = rf"\mathrm{{softmax}}\!\left({scores} + \mathrm{{mask}}\right)"
    return rf"o = \left[\,{softmax} V_h{encoder}\,\right]_{{h}} W_O + b_O"


def attention_steps(site: AttentionSite, values: AttentionValues) -> tuple[Step, ...]:
    """The six steps with their numbers."""
    scores, masked, weights = values.scores, values.masked, values.weights
    keys = [token.text for token in site.translation.tokens_of(site.kind)[1]]
    strongest = [f"{keys[int(row.argmax())]} {row.max():.2f}" for row in weights]
    keys_from = "from the encoder's output" if site.kind == "cross" else "from the same stack"
    return (
        Step(
            name="query",
            formula="q = x W_Q + b_Q",
            numbers=to_float32(values.query),
            rows="heads",
            facts=(("numbers per head", str(values.query.shape[1])),),
        ),
        Step(
            name="scores",
            formula="q kᵀ / √dₖ" if site.attention.score_vector is None else "vᵀ tanh(q + k)",
            numbers=to_float32(scores),
            rows="heads",
            facts=(("keys and values", keys_from), ("from", f"{scores.min():.2f}"), ("to", f"{scores.max():.2f}")),
        ),
        Step(
            name="mask",
            formula="−∞ where masked",
            numbers=to_float32(np.where(masked, np.nan, scores)),
            rows="heads",
            facts=(("masked tokens", f"{int(masked[0].sum())} of {masked.shape[1]}"),),
        ),
        Step(
            name="weights",
            formula="α = softmax(…)",
            numbers=to_float32(weights),
            rows="heads",
            shares=True,
            facts=tuple((f"head {head + 1} attends most to", key) for head, key in enumerate(strongest)),
        ),
        Step(name="weighted sum", formula="z = α V", numbers=to_float32(values.heads), rows="heads"),
        Step(
            name="projection",
            formula="o = [z₁ … z_h] W_O + b_O",
            numbers=to_float32(values.output)[None],
            facts=(("length", format_length(values.output)),),
        ),
    )


def attention_code(attention: MultiHeadAttention) -> tuple[tuple[CodeLine, ...], ...]:
    """The functions of the model that compute the steps."""
    scores = scaled_dot_product_scores if attention.score_vector is None else additive_scores
    functions = (
        MultiHeadAttention.forward,
        MultiHeadAttention.written_out,
        scores,
        mask_scores,
        attention_weights,
    )
    return tuple(map(function_code, functions))

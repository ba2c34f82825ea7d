"""Attention as a station: every step from the query vector to the output, computed again for one position."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from model.analysis.station import (
    Followed,
    Station,
    Step,
    code_lines,
    format_length,
    largest_difference,
    to_float32,
    to_float64,
)
from model.analysis.streams import FloatArray, head_matrices
from model.network.attention import MultiHeadAttention
from model.network.own_model import OwnModel
from model.network.residual_stream import Block
from model.trace import hook_name

__all__ = ["AttentionSite", "attention_station"]


@dataclass(frozen=True, kw_only=True)
class AttentionSite:
    """One position in one attention block of a recorded text."""

    text: Followed
    block: Block
    position: int  # of the query, counted from 0

    @property
    def kind(self) -> str:
        """The kind of attention."""
        assert self.block.kind is not None
        return self.block.kind

    @property
    def attention(self) -> MultiHeadAttention | None:
        """The module, if it is our own."""
        model = self.text.model
        module = model.get_submodule(self.block.name) if isinstance(model, OwnModel) else None
        return module if isinstance(module, MultiHeadAttention) else None

    @property
    def scaling(self) -> float:
        """The factor of the products q·k."""
        return self.text.model.scaling(self.kind, self.block.layer)

    def hook(self, stage: str) -> str:
        """The name of a hook point of this block."""
        return hook_name(self.kind, self.block.layer, stage)

    def recorded(self, stage: str) -> FloatArray:
        """What the model computed at this position, in double precision."""
        return self.text.at(self.hook(stage), self.position)

    def all_keys(self, stage: str) -> FloatArray:
        """What the model computed at all keys, (H, S, K), in double precision."""
        return self.text.recording.array(self.hook(stage)).astype(np.float64)

    @property
    def bias(self) -> FloatArray | None:
        """What is added to the scores (H, S) for the distance of query and key (T5); None without it."""
        try:
            return self.recorded("bias")
        except KeyError:
            return None


@dataclass(frozen=True, kw_only=True)
class AttentionValues:
    """The results of the steps for one query, in double precision."""

    query: FloatArray  # (H, K)
    scores: FloatArray  # (H, S)
    masked: NDArray[np.bool_]  # (H, S): True where the query may not attend
    weights: FloatArray  # (H, S)
    heads: FloatArray  # (H, K)
    output: FloatArray  # (D,)


def attention_station(site: AttentionSite, x: FloatArray) -> tuple[Station, FloatArray]:
    """Compute attention again for one query, and compare each step with the model's own.

    Args:
        site: The position and the block.
        x: The vector that the query is computed from, (D,).

    Returns:
        The station, and the output of the block before its norm and its multiplier, (D,).

    Raises:
        ConfigError: the model does more than multiply the head outputs with one matrix.
    """
    values = compute(site, x)
    return Station(
        name="Cross-attention" if site.kind == "cross" else "Self-attention",
        formula=station_formula(site),
        vector=to_float32(values.output),
        difference=difference_from_model(site, values),
        steps=attention_steps(site, values),
        code=code_lines(site.block.code),
    ), values.output


def compute(site: AttentionSite, x: FloatArray) -> AttentionValues:
    """The steps in double precision, from `x` (D,) and the model's own keys, values and mask."""
    keys, values = site.all_keys("keys"), site.all_keys("values")  # (H, S, K)
    query = compute_query(site, x)
    scores = compute_scores(site, query, keys)
    masked = np.isneginf(site.recorded("masked_scores"))  # (H, S)
    masked_scores = np.where(masked, -np.inf, scores)
    exponentials = np.exp(masked_scores - masked_scores.max(axis=1, keepdims=True))
    weights = exponentials / exponentials.sum(axis=1, keepdims=True)  # (H, S)
    heads = np.einsum("hs,hsk->hk", weights, values)
    matrices, bias = head_matrices(site.text.model, site.kind, site.block.layer, len(heads))
    output = np.einsum("hk,hkd->d", heads, matrices.numpy()) + bias.numpy()
    return AttentionValues(query=query, scores=scores, masked=masked, weights=weights, heads=heads, output=output)


def compute_query(site: AttentionSite, x: FloatArray) -> FloatArray:
    """The queries of all heads, (H, K). Those of another library are as recorded."""
    attention = site.attention
    if attention is None:
        return site.recorded("queries")
    projection = attention.query_projection
    query = to_float64(projection.weight) @ x + to_float64(projection.bias)  # (H·K,)
    by_head = torch.from_numpy(query).view(1, attention.num_heads, 1, -1)
    turned = attention.rotate(by_head.to(site.text.model.device), offset=site.position)
    return to_float64(turned[0, :, 0])


def compute_scores(site: AttentionSite, query: FloatArray, keys: FloatArray) -> FloatArray:
    """The scores of a query (H, K) with all keys (H, S, K), (H, S)."""
    if site.attention is not None and site.attention.score_vector is not None:
        return np.einsum("hsk,hk->hs", np.tanh(query[:, None] + keys), to_float64(site.attention.score_vector))
    scores = np.einsum("hk,hsk->hs", query, keys) * site.scaling
    return scores if site.bias is None else scores + site.bias


def difference_from_model(site: AttentionSite, values: AttentionValues) -> float:
    """The largest difference of any step from the model's own tensor."""
    weights = site.text.maps[site.kind][site.block.layer][:, site.position].astype(np.float64)
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
    scores = additive if is_additive(site) else dot_product
    if not is_additive(site) and not divides_by_root(site):
        scores = (
            rf"{site.scaling:.4g}\, q_h K_h{encoder}{{}}^\top" if site.scaling != 1 else rf"q_h K_h{encoder}{{}}^\top"
        )
    if site.bias is not None:
        scores += r" + b_{\mathrm{distance}}"
    softmax = rf"\mathrm{{softmax}}\!\left({scores} + \mathrm{{mask}}\right)"
    return rf"o = \left[\,{softmax} V_h{encoder}\,\right]_{{h}} W_O + b_O"


def is_additive(site: AttentionSite) -> bool:
    return site.attention is not None and site.attention.score_vector is not None


def divides_by_root(site: AttentionSite) -> bool:
    """Whether the scores are divided by √dₖ, and not by another number."""
    width = site.all_keys("keys").shape[-1]
    return bool(np.isclose(site.scaling, width**-0.5))


def score_formula(site: AttentionSite) -> str:
    """The scores in plain text."""
    if is_additive(site):
        return "vᵀ tanh(q + k)"
    product = "q kᵀ / √dₖ" if divides_by_root(site) else "q kᵀ" if site.scaling == 1 else f"{site.scaling:.4g} · q kᵀ"
    return product if site.bias is None else f"{product} + distance"


def attention_steps(site: AttentionSite, values: AttentionValues) -> tuple[Step, ...]:
    """The six steps with their numbers."""
    scores, masked, weights = values.scores, values.masked, values.weights
    keys = site.text.keys[site.kind]
    strongest = [f"{keys[int(row.argmax())]} {row.max():.2f}" for row in weights]
    keys_from = "from the encoder's output" if site.kind == "cross" else "from the same stack"
    return (
        Step(
            name="query",
            formula="q = x W_Q + b_Q" if site.attention else "q",
            numbers=to_float32(values.query),
            rows="heads",
            facts=(("numbers per head", str(values.query.shape[1])),),
        ),
        Step(
            name="scores",
            formula=score_formula(site),
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

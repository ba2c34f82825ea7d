"""Attention as a station: every step from the query vector to the output, computed again from what was recorded.

`attend` is the only function that does so. `anatomy.py` calls it with one head in the precision of the recording, and
`compute` with all heads of a block in double precision.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.followed import Followed, largest_difference
from model.analysis.station import Facts, Station, Step, length_of, make_station, vector_step
from model.analysis.streams import FloatArray, head_matrices, to_double
from model.config.section import ConfigError
from model.messages import N_, Message
from model.network.attention import attention_weights
from model.network.residual_stream import Block
from model.network.scores import attention_scores
from model.trace import hook_name

__all__ = ["AttentionSite", "AttentionValues", "attend", "attention_station", "sharing_heads"]

Floats = NDArray[np.floating[Any]]


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
    def scaling(self) -> float:
        """The factor of the products q·k."""
        return self.text.model.scaling(self.kind, self.block.layer)

    @property
    def divides_by_root(self) -> bool:
        """Whether the scores are divided by √dₖ, and not by another number."""
        return bool(np.isclose(self.scaling, self.all_keys("keys").shape[-1] ** -0.5))

    @property
    def additive(self) -> bool:
        """Whether the scores are additive."""
        return self.block.score_vector is not None

    @property
    def cap(self) -> float | None:
        """The limit of the scores."""
        return self.text.model.score_cap(self.kind, self.block.layer)

    @property
    def sinks(self) -> Tensor | None:
        """The scores of the sinks, (H,)."""
        return self.text.model.sinks(self.kind, self.block.layer)

    @property
    def bias(self) -> FloatArray | None:
        """What is added to the scores (H, S) for the distance of query and key (T5, ALiBi); None without."""
        try:
            return self.recorded("bias")
        except KeyError:
            return None

    @property
    def weights(self) -> NDArray[np.float32]:
        """The weights of the run, (H, S)."""
        return self.text.maps[self.kind][self.block.layer][:, self.position]

    def recorded(self, stage: str) -> FloatArray:
        """What the model computed at this position, in double precision."""
        return self.text.at(hook_name(self.kind, self.block.layer, stage), self.position)

    def all_keys(self, stage: str) -> FloatArray:
        """What the model computed at all keys, (H, S, K), in double precision."""
        return self.text.recording.array(hook_name(self.kind, self.block.layer, stage)).astype(np.float64)


def compute(site: AttentionSite, x: FloatArray) -> AttentionValues:
    """The steps of all heads in double precision, from `x` (D,) and the model's own keys, values and mask."""
    vector, query = site.block.score_vector, site.block.query
    return attend(
        # The queries of another library are as recorded.
        site.recorded("queries") if query is None else to_double(query(torch.from_numpy(x), site.position)).numpy(),
        site.all_keys("keys"),
        site.all_keys("values"),
        allowed=~np.isneginf(site.recorded("masked_scores")),
        scaling=site.scaling,
        cap=site.cap,
        bias=site.bias,
        vector=None if vector is None else vector.cpu(),
        sinks=None if site.sinks is None else site.sinks.cpu(),
    )


def attention_station(site: AttentionSite, x: FloatArray) -> tuple[Station, FloatArray]:
    """Compute attention again for one query, and compare each step with the model's own.

    Args:
        site: The position and the block.
        x: The vector that the query is computed from, (D,).

    Returns:
        The station, and the output of the block before its norm and its multiplier, (D,).

    Raises:
        ConfigError: the model does more than multiply the head outputs with one matrix; or it is read-only and changes
            the output of attention before it adds it.
    """
    name = N_("Cross-attention") if site.kind == "cross" else N_("Self-attention")
    if site.text.model.read_only_reason:
        output, step = recorded_output(site)
        return make_station(name, r"o = \mathrm{Attention}(x)", output, [step]), output
    values = compute(site, x)
    matrices, bias = head_matrices(site.text.model, site.kind, site.block.layer, len(values.heads))
    output = np.einsum("hk,hkd->d", values.heads, matrices.numpy()) + bias.numpy()
    steps, code = attention_steps(site, values, output), site.block.code
    difference = max(
        largest_difference(values.query, site.recorded("queries")),
        largest_difference(values.scores, site.recorded("scores")),
        largest_difference(values.weights, site.weights.astype(np.float64)),
        largest_difference(values.heads, site.recorded("head_outputs")),
        largest_difference(output, site.recorded("output")),
    )
    return make_station(name, station_formula(site), output, steps, difference=difference, code=code), output


def recorded_output(site: AttentionSite) -> tuple[FloatArray, Step]:
    """The output of a read-only model, (D,), and its weights as the only step: nothing in between is recorded."""
    block = site.block
    if block.norm_added is not None:
        raise ConfigError(site.text.model.read_only_reason)
    facts = strongest_keys(site, site.weights)
    step = Step(name=N_("weights"), formula=r"α", numbers=site.weights, rows=N_("heads"), shares=True, facts=facts)
    return site.text.at(block.added, site.position) / block.multiplier, step


def strongest_keys(site: AttentionSite, weights: Floats) -> Facts:
    """The key to which each head attends most, from weights (H, S)."""
    keys = site.text.keys(site.kind)
    return tuple(
        (Message("head {head} attends most to", head=head + 1), f"{keys[int(row.argmax())]} {row.max():.2f}")
        for head, row in enumerate(weights)
    )


def station_formula(site: AttentionSite) -> str:
    """The whole sublayer in LaTeX. In cross-attention, keys and values come from the encoder's output."""
    encoder = r"^{\mathrm{enc}}" if site.kind == "cross" else ""
    if site.additive:
        scores = rf"v^\top\tanh(q_h + K_h{encoder})"
    elif site.divides_by_root:
        scores = rf"\tfrac{{q_h K_h{encoder}{{}}^\top}}{{\sqrt{{d_k}}}}"
    else:
        scores = (rf"{site.scaling:.4g}\, " if site.scaling != 1 else "") + rf"q_h K_h{encoder}{{}}^\top"
    if site.cap is not None:
        scores = rf"{site.cap:g}\tanh\!\left({scores} / {site.cap:g}\right)"
    if site.bias is not None:
        scores += r" + b_{\mathrm{distance}}"
    softmax = rf"\mathrm{{softmax}}\!\left({scores} + \mathrm{{mask}}\right)"
    return rf"o = \left[\,{softmax} V_h{encoder}\,\right]_{{h}} W_O + b_O"


def score_formula(site: AttentionSite) -> str:
    """The scores in plain text."""
    if site.additive:
        return "vᵀ tanh(q + k)"
    return "q kᵀ / √dₖ" if site.divides_by_root else "q kᵀ" if site.scaling == 1 else f"{site.scaling:.4g} · q kᵀ"


def attention_steps(site: AttentionSite, values: AttentionValues, output: FloatArray) -> list[Step]:
    """The steps with their numbers: seven, and one each for a limit of the scores and for the distance."""

    def of_heads(name: str, formula: str, numbers: Floats, *facts: tuple[str, str], shares: bool = False) -> Step:
        single = numbers.astype(np.float32)  # (H, …)
        return Step(name=name, formula=formula, numbers=single, rows="heads", shares=shares, facts=facts)

    weights, masked, shared = (
        values.weights,
        int(np.isneginf(values.masked[0]).sum()),
        sharing_heads(site.all_keys("keys")),
    )
    keys_from = N_("from the encoder's output") if site.kind == "cross" else N_("from the same stack")
    source = (
        (N_("keys and values"), keys_from),
        *([(N_("heads that share them"), str(shared))] if shared != 1 else []),
    )
    sinks = (
        []
        if site.sinks is None
        else [
            (Message("share of the sink of head {head}", head=head + 1), f"{1 - row.sum():.2f}")
            for head, row in enumerate(weights)
        ]
    )
    steps = [
        of_heads(
            N_("query"),
            "q = x W_Q + b_Q" if site.block.query else "q",
            values.query,
            (N_("numbers per head"), str(values.query.shape[1])),
        ),
        of_heads(N_("scores"), score_formula(site), values.products, *source, *range_of(values.products)),
    ]
    if site.cap is not None:
        formula = f"c · tanh(s / c), c = {site.cap:g}"
        steps.append(of_heads(N_("cap"), formula, values.capped, *range_of(values.capped)))
    if site.bias is not None:
        steps.append(of_heads(N_("distance"), N_("s + b(distance)"), values.scores, *range_of(values.scores)))
    counted = (N_("masked tokens"), Message("{n} of {all}", n=masked, all=weights.shape[1]))
    softmax = "α = softmax(…)" if site.sinks is None else N_("α = softmax(…, sink) without the sink")
    return [
        *steps,
        of_heads(N_("mask"), N_("−∞ where masked"), values.masked, counted),
        of_heads(N_("weights"), softmax, weights, *strongest_keys(site, weights), *sinks, shares=True),
        of_heads(N_("weighted sum"), "z = α V", values.heads),
        vector_step(N_("projection"), "o = [z₁ … z_h] W_O + b_O", output, (length_of(output),)),
    ]


def range_of(scores: Floats) -> Facts:
    """The smallest and the largest score."""
    return ((N_("smallest"), f"{scores.min():.2f}"), (N_("largest"), f"{scores.max():.2f}"))


def sharing_heads(keys: Floats) -> int:
    """How many neighbouring heads have the same keys (H, S, K), because they share them (Ainslie et al. 2023)."""
    same = [np.array_equal(keys[0], other) for other in keys]
    return same.index(False) if False in same else len(keys)

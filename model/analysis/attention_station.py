"""Attention as a station: every step from the query vector to the output, computed again for one position."""

from collections.abc import Sequence

import numpy as np
import torch

from model.analysis.anatomy import Anatomy, AttentionValues, Floats, attend, layer_in
from model.analysis.followed import Followed, largest_difference
from model.analysis.station import Facts, Station, Step, length_of, make_station, vector_step
from model.analysis.streams import FloatArray, head_matrices, to_double
from model.config.section import ConfigError
from model.messages import N_, Message
from model.network.residual_stream import Block
from model.trace import hook_name

__all__ = ["attention_station"]


def attention_station(text: Followed, block: Block, position: int, x: FloatArray) -> tuple[Station, FloatArray]:
    """Compute attention again for one query, and compare each step with the model's own.

    Args:
        text: A run, recorded in the layer of the block.
        block: Of attention.
        position: Of the query, counted from 0.
        x: The vector that the query is computed from, (D,).

    Returns:
        The station, and the output of the block before its norm and its multiplier, (D,).

    Raises:
        ConfigError: the model does more than multiply the head outputs with one matrix; or it is read-only and changes
            the output of attention before it adds it.
    """
    kind, model = block.kind or "", text.model
    name = N_("Cross-attention") if kind == "cross" else N_("Self-attention")
    weights = text.maps[kind][block.layer][:, position]  # (H, S)
    keys = text.keys(kind)
    if model.read_only_reason:  # nothing is recorded between the weights and the output
        if block.norm_added is not None:
            raise ConfigError(model.read_only_reason)
        output = text.at(block.added, position) / block.multiplier
        facts = strongest_keys(keys, weights)
        step = Step(name=N_("weights"), formula=r"α", numbers=weights, rows=N_("heads"), shares=True, facts=facts)
        return make_station(name, r"o = \mathrm{Attention}(x)", output, [step]), output
    parts = layer_in(text.recording, model, kind, block.layer, text.maps[kind][block.layer])
    values = attend_again(parts, block, position, x)
    matrices, bias = head_matrices(model, kind, block.layer, len(values.heads))
    output = np.einsum("hk,hkd->d", values.heads, matrices.numpy()) + bias.numpy()
    difference = max(
        largest_difference(values.query, parts.queries[:, position].astype(np.float64)),
        largest_difference(values.scores, text.at(hook_name(kind, block.layer, "scores"), position)),
        largest_difference(values.weights, weights.astype(np.float64)),
        largest_difference(values.heads, parts.head_outputs[:, position].astype(np.float64)),
        largest_difference(output, text.at(hook_name(kind, block.layer, "output"), position)),
    )
    formula, steps = station_formula(parts, block), attention_steps(parts, block, keys, values, output)
    return make_station(name, formula, output, steps, difference=difference, code=block.code), output


def attend_again(parts: Anatomy, block: Block, position: int, x: FloatArray) -> AttentionValues:
    """The steps of all heads in double precision, from `x` (D,) and the model's own keys, values and mask."""
    vector = block.score_vector
    query = parts.queries[:, position].astype(np.float64)  # those of another library are as recorded
    if block.query is not None:
        query = to_double(block.query(torch.from_numpy(x), position)).numpy()
    return attend(
        query,
        parts.keys.astype(np.float64),
        parts.values.astype(np.float64),
        allowed=parts.allowed[position],
        scaling=parts.scaling,
        cap=parts.cap,
        bias=None if parts.distances is None else parts.distances[:, position].astype(np.float64),
        vector=None if vector is None else vector.cpu(),
        sinks=None if parts.sinks is None else torch.tensor(parts.sinks),
    )


def divides_by_root(parts: Anatomy) -> bool:
    """Whether the scores are divided by √dₖ, and not by another number."""
    return bool(np.isclose(parts.scaling, parts.keys.shape[-1] ** -0.5))


def strongest_keys(keys: Sequence[str], weights: Floats) -> Facts:
    """The key to which each head attends most, from weights (H, S)."""
    return tuple(
        (Message("head {head} attends most to", head=head + 1), f"{keys[int(row.argmax())]} {row.max():.2f}")
        for head, row in enumerate(weights)
    )


def station_formula(parts: Anatomy, block: Block) -> str:
    """The whole sublayer in LaTeX. In cross-attention, keys and values come from the encoder's output."""
    encoder = r"^{\mathrm{enc}}" if block.kind == "cross" else ""
    if block.score_vector is not None:
        scores = rf"v^\top\tanh(q_h + K_h{encoder})"
    elif divides_by_root(parts):
        scores = rf"\tfrac{{q_h K_h{encoder}{{}}^\top}}{{\sqrt{{d_k}}}}"
    else:
        scores = (rf"{parts.scaling:.4g}\, " if parts.scaling != 1 else "") + rf"q_h K_h{encoder}{{}}^\top"
    if parts.cap is not None:
        scores = rf"{parts.cap:g}\tanh\!\left({scores} / {parts.cap:g}\right)"
    if parts.distances is not None:
        scores += r" + b_{\mathrm{distance}}"
    softmax = rf"\mathrm{{softmax}}\!\left({scores} + \mathrm{{mask}}\right)"
    return rf"o = \left[\,{softmax} V_h{encoder}\,\right]_{{h}} W_O + b_O"


def score_formula(parts: Anatomy, block: Block) -> str:
    """The scores in plain text."""
    if block.score_vector is not None:
        return "vᵀ tanh(q + k)"
    return "q kᵀ / √dₖ" if divides_by_root(parts) else "q kᵀ" if parts.scaling == 1 else f"{parts.scaling:.4g} · q kᵀ"


def attention_steps(
    parts: Anatomy, block: Block, tokens: Sequence[str], values: AttentionValues, output: FloatArray
) -> list[Step]:
    """The steps with their numbers: seven, and one each for a limit of the scores and for the distance."""

    def of_heads(name: str, formula: str, numbers: Floats, *facts: tuple[str, str], shares: bool = False) -> Step:
        single = numbers.astype(np.float32)  # (H, …)
        return Step(name=name, formula=formula, numbers=single, rows="heads", shares=shares, facts=facts)

    weights, masked = values.weights, int(np.isneginf(values.masked[0]).sum())
    keys_from = N_("from the encoder's output") if block.kind == "cross" else N_("from the same stack")
    source = (
        (N_("keys and values"), keys_from),
        *([(N_("heads that share them"), str(parts.sharing))] if parts.sharing != 1 else []),
    )
    sinks = (
        []
        if parts.sinks is None
        else [
            (Message("share of the sink of head {head}", head=head + 1), f"{1 - row.sum():.2f}")
            for head, row in enumerate(weights)
        ]
    )
    steps = [
        of_heads(
            N_("query"),
            "q = x W_Q + b_Q" if block.query else "q",
            values.query,
            (N_("numbers per head"), str(values.query.shape[1])),
        ),
        of_heads(N_("scores"), score_formula(parts, block), values.products, *source, *range_of(values.products)),
    ]
    if parts.cap is not None:
        formula = f"c · tanh(s / c), c = {parts.cap:g}"
        steps.append(of_heads(N_("cap"), formula, values.capped, *range_of(values.capped)))
    if parts.distances is not None:
        steps.append(of_heads(N_("distance"), N_("s + b(distance)"), values.scores, *range_of(values.scores)))
    counted = (N_("masked tokens"), Message("{n} of {all}", n=masked, all=weights.shape[1]))
    softmax = "α = softmax(…)" if parts.sinks is None else N_("α = softmax(…, sink) without the sink")
    return [
        *steps,
        of_heads(N_("mask"), N_("−∞ where masked"), values.masked, counted),
        of_heads(N_("weights"), softmax, weights, *strongest_keys(tokens, weights), *sinks, shares=True),
        of_heads(N_("weighted sum"), "z = α V", values.heads),
        vector_step(N_("projection"), "o = [z₁ … z_h] W_O + b_O", output, (length_of(output),)),
    ]


def range_of(scores: Floats) -> Facts:
    """The smallest and the largest score."""
    return ((N_("smallest"), f"{scores.min():.2f}"), (N_("largest"), f"{scores.max():.2f}"))

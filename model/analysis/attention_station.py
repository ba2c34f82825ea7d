"""Attention as a station: every step from the query vector to the output, computed again for one position."""

import numpy as np
from numpy.typing import NDArray

from model.analysis.anatomy import sharing_heads
from model.analysis.attention_values import AttentionSite, AttentionValues, compute, mix_heads
from model.analysis.station import Station, Step, code_lines, format_length, largest_difference, to_float32
from model.analysis.streams import FloatArray
from model.config.section import ConfigError
from model.messages import N_, Message

__all__ = ["attention_station"]


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
    if site.text.model.read_only_reason:
        return recorded_station(site)
    values = compute(site, x)
    output = mix_heads(site, values.heads)
    return Station(
        name=station_name(site),
        formula=station_formula(site),
        vector=to_float32(output),
        difference=difference_from_model(site, values, output),
        steps=attention_steps(site, values, output),
        code=code_lines(site.block.code),
    ), output


def station_name(site: AttentionSite) -> str:
    return N_("Cross-attention") if site.kind == "cross" else N_("Self-attention")


def recorded_station(site: AttentionSite) -> tuple[Station, FloatArray]:
    """As `attention_station`, for a read-only model: its weights and its output as recorded, and nothing in between."""
    block, model = site.block, site.text.model
    if block.norm_added is not None:
        raise ConfigError(model.read_only_reason)
    output = site.text.at(block.added, site.position) / block.multiplier
    weights = site.text.maps[site.kind][block.layer][:, site.position]  # (H, S)
    step = Step(
        name=N_("weights"),
        formula=r"α",
        numbers=weights,
        rows=N_("heads"),
        shares=True,
        facts=strongest_keys(site, weights),
    )
    station = Station(
        name=station_name(site),
        formula=r"o = \mathrm{Attention}(x)",
        vector=to_float32(output),
        difference=0.0,
        steps=(step,),
    )
    return station, output


def strongest_keys(site: AttentionSite, weights: NDArray[np.floating]) -> tuple[tuple[str, str], ...]:
    """The key to which each head attends most, from weights (H, S)."""
    keys = site.text.keys[site.kind]
    return tuple(
        (Message("head {head} attends most to", head=head + 1), f"{keys[int(row.argmax())]} {row.max():.2f}")
        for head, row in enumerate(weights)
    )


def difference_from_model(site: AttentionSite, values: AttentionValues, output: FloatArray) -> float:
    """The largest difference of any step from the model's own tensor."""
    weights = site.text.maps[site.kind][site.block.layer][:, site.position].astype(np.float64)
    return max(
        largest_difference(values.query, site.recorded("queries")),
        largest_difference(values.scores, site.recorded("scores")),
        largest_difference(values.weights, weights),
        largest_difference(values.heads, site.recorded("head_outputs")),
        largest_difference(output, site.recorded("output")),
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
    if site.cap is not None:
        scores = rf"{site.cap:g}\tanh\!\left({scores} / {site.cap:g}\right)"
    if site.bias is not None:
        scores += r" + b_{\mathrm{distance}}"
    softmax = rf"\mathrm{{softmax}}\!\left({scores} + \mathrm{{mask}}\right)"
    return rf"o = \left[\,{softmax} V_h{encoder}\,\right]_{{h}} W_O + b_O"


def is_additive(site: AttentionSite) -> bool:
    return site.block.score_vector is not None


def divides_by_root(site: AttentionSite) -> bool:
    """Whether the scores are divided by √dₖ, and not by another number."""
    width = site.all_keys("keys").shape[-1]
    return bool(np.isclose(site.scaling, width**-0.5))


def score_formula(site: AttentionSite) -> str:
    """The scores in plain text."""
    if is_additive(site):
        return "vᵀ tanh(q + k)"
    return "q kᵀ / √dₖ" if divides_by_root(site) else "q kᵀ" if site.scaling == 1 else f"{site.scaling:.4g} · q kᵀ"


def attention_steps(site: AttentionSite, values: AttentionValues, output: FloatArray) -> tuple[Step, ...]:
    """The steps with their numbers: six, and one each for a limit of the scores and for the distance."""
    weights, masked = values.weights, int(np.isneginf(values.masked[0]).sum())
    keys_from = N_("from the encoder's output") if site.kind == "cross" else N_("from the same stack")
    return (
        Step(
            name=N_("query"),
            formula="q = x W_Q + b_Q" if site.block.query else "q",
            numbers=to_float32(values.query),
            rows="heads",
            facts=((N_("numbers per head"), str(values.query.shape[1])),),
        ),
        Step(
            name=N_("scores"),
            formula=score_formula(site),
            numbers=to_float32(values.products),
            rows="heads",
            facts=((N_("keys and values"), keys_from), *sharing_fact(site), *range_of(values.products)),
        ),
        *changes_of_scores(site, values),
        Step(
            name=N_("mask"),
            formula=N_("−∞ where masked"),
            numbers=to_float32(values.masked),
            rows="heads",
            facts=((N_("masked tokens"), Message("{n} of {all}", n=masked, all=weights.shape[1])),),
        ),
        Step(
            name=N_("weights"),
            formula="α = softmax(…)" if site.sinks is None else N_("α = softmax(…, sink) without the sink"),
            numbers=to_float32(weights),
            rows="heads",
            shares=True,
            facts=(*strongest_keys(site, weights), *sink_facts(site, weights)),
        ),
        Step(name=N_("weighted sum"), formula="z = α V", numbers=to_float32(values.heads), rows="heads"),
        Step(
            name=N_("projection"),
            formula="o = [z₁ … z_h] W_O + b_O",
            numbers=to_float32(output)[None],
            facts=((N_("length"), format_length(output)),),
        ),
    )


def changes_of_scores(site: AttentionSite, values: AttentionValues) -> tuple[Step, ...]:
    """The steps between the products and the mask that only some models have."""
    capped = Step(
        name=N_("cap"),
        formula=f"c · tanh(s / c), c = {site.cap:g}" if site.cap is not None else "",
        numbers=to_float32(values.capped),
        rows="heads",
        facts=range_of(values.capped),
    )
    moved = Step(
        name=N_("distance"),
        formula=N_("s + b(distance)"),
        numbers=to_float32(values.scores),
        rows="heads",
        facts=range_of(values.scores),
    )
    return (capped,) * (site.cap is not None) + (moved,) * (site.bias is not None)


def range_of(scores: NDArray[np.floating]) -> tuple[tuple[str, str], ...]:
    return ((N_("smallest"), f"{scores.min():.2f}"), (N_("largest"), f"{scores.max():.2f}"))


def sharing_fact(site: AttentionSite) -> tuple[tuple[str, str], ...]:
    """How many heads share keys and values, if any do."""
    heads = sharing_heads(site.all_keys("keys"))
    return () if heads == 1 else ((N_("heads that share them"), str(heads)),)


def sink_facts(site: AttentionSite, weights: NDArray[np.floating]) -> tuple[tuple[str, str], ...]:
    """What the weights (H, S) of each head lack to 1, if there are sinks."""
    if site.sinks is None:
        return ()
    return tuple(
        (Message("share of the sink of head {head}", head=head + 1), f"{1 - row.sum():.2f}")
        for head, row in enumerate(weights)
    )

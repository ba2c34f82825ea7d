"""The maps of a translation in several forms: all heads, one head, lines, BertViz, and a table."""

from functools import partial

import numpy as np
import pandas as pd
import streamlit as st

from model.analysis.statistics import strongest
from model.config.kinds import KINDS
from viz_app.components.attention_view import AttentionView, ChosenMap
from viz_app.components.elements.lines import AttentionLines, attention_lines
from viz_app.components.elements.maps import ColourRange, HeadGrid, LargeMap, attention_map, head_grid
from viz_app.content.numbers import sentences
from viz_app.content.plain import as_sentence
from viz_app.content.translation import N_, t
from viz_app.figures.overview import overview_summary, overview_table
from viz_app.figures.picture import map_summary, map_table
from viz_app.widgets.charts import numbers
from viz_app.widgets.head_picker import open_head
from viz_app.widgets.headings import section
from viz_app.widgets.presenter_mode import SCALE, presenting

__all__ = ["all_heads", "bertviz", "lines", "one_head", "weights_table"]

BERTVIZ = {
    "model": N_("BertViz (Vig 2019): queries on the left, keys on the right. Choose a tile to enlarge it."),
    "head": N_(
        "BertViz (Vig 2019): queries on the left, keys on the right. Each colour is a head; head 1 is on the left. "
        "Choose a colour to hide its head."
    ),
}
MAX_ROWS = 25  # of the table


def all_heads(
    shown: AttentionView, kind: str, layer: int, head: int | str, *, largest: float, logarithmic: bool
) -> None:
    """Draw every layer and head small. A click on a map makes it the large one."""
    layers, heads = shown.maps.shape[:2]
    caption = "" if presenting() else sentences([t(KINDS[kind].shows), t("Choose a map to enlarge it.")])
    section(t("Every layer and head"), caption)
    title = t("All heads, {kind}", kind=t(KINDS[kind].full_name))
    alt = t(
        "{kind}: {layers} × {heads} small heatmaps, one for each layer and head",
        kind=t(KINDS[kind].full_name),
        layers=layers,
        heads=heads,
    )
    summary = overview_summary(shown.maps)
    grid = HeadGrid(
        maps=shown.maps,
        allowed=shown.allowed,
        chosen=(layer, head if isinstance(head, int) else None),
        colours=ColourRange(largest=largest, logarithmic=logarithmic),
        title=title,
        alt=sentences([as_sentence(alt), summary]),
    )
    head_grid(grid, key="overview", on_open=open_head)
    numbers({"": partial(overview_table, shown.maps)}, summary=summary, key="overview", alt=alt)


def one_head(shown: AttentionView, chosen: ChosenMap, kind: str, layer: int, *, logarithmic: bool) -> None:
    """Draw the chosen map large."""
    section(as_sentence(name_of(chosen, layer)), "" if presenting() else chosen.meaning)
    title = t("{kind}, layer {layer}, {map}", kind=t(KINDS[kind].full_name), layer=layer + 1, map=chosen.name)
    alt = t("Heatmap ({unit}): {title}", unit=chosen.unit, title=title)
    visible = np.where(chosen.allowed, chosen.weights, np.float32("nan"))
    summary = map_summary(visible, shown.axes, unit=chosen.unit)
    large = LargeMap(
        weights=chosen.weights,
        allowed=chosen.allowed,
        axes=shown.axes,
        unit=chosen.unit,
        colours=ColourRange(largest=chosen.largest, logarithmic=logarithmic),
        title=title,
        alt=sentences([as_sentence(alt), summary]),
    )
    attention_map(large, key="head_map")
    numbers({"": partial(map_table, visible, shown.axes)}, summary=summary, key="head_map", alt=alt)


def name_of(chosen: ChosenMap, layer: int) -> str:
    """The name of the large map with its layer, counted from 0."""
    return t("Layer {layer} · {map}", layer=layer + 1, map=chosen.name)


def lines(shown: AttentionView, chosen: ChosenMap, kind: str, layer: int, head: int | str) -> None:
    """Draw lines between queries and keys: for any heads, or for the aggregate that is chosen."""
    st.caption(
        t(
            "Each line joins a query (left) and a key (right). A thicker line has more weight. Choose a token to see "
            "only its lines."
        )
    )
    layers, heads = shown.maps.shape[:2]
    single = isinstance(head, int)
    drawn = AttentionLines(
        maps=shown.maps if single else chosen.weights[None, None],
        axes=shown.axes,
        kind=kind,
        rows=[t("layer {layer}", layer=i + 1) for i in range(layers)] if single else [chosen.name],
        chosen=[layer * heads + head if isinstance(head, int) else 0],
        largest=chosen.largest,
        alt=t("{kind}: lines between queries and keys", kind=t(KINDS[kind].full_name)),
    )
    attention_lines(drawn, key="line_view")


def bertviz(shown: AttentionView, kind: str, layer: int, head: int | str, *, model_view: bool) -> None:
    """Draw the weights with BertViz. It is imported only here, because the import takes a second."""
    from viz_app.export import bertviz_frame

    which: bertviz_frame.View = "model" if model_view else "head"
    limit = bertviz_frame.MAX_TOKENS[which]
    tokens = max(shown.maps.shape[2:])
    if tokens > limit:
        st.info(
            t(
                "In this view, BertViz can draw at most {limit} tokens per side. One side here has {tokens}. Try a "
                "shorter text, or choose the view “Heatmaps”.",
                limit=limit,
                tokens=tokens,
            )
        )
        return
    st.caption(t(BERTVIZ[which]))
    if not np.isfinite(shown.maps).all():
        st.caption(t("Some weights are not a number. BertViz draws nothing for them."))
    single = head if isinstance(head, int) else None
    scale = SCALE if presenting() else 1.0
    st.iframe(
        bertviz_frame.document(
            which,
            kind,
            shown.maps,
            shown.axes,
            layer=layer,
            head=single,
            second_start=shown.second_start,
            dark=st.context.theme.type == "dark",
            scale=scale,
        ),
        height=round(scale * bertviz_frame.height(which, shown.maps)),
        alt=t("BertViz model view: {kind}", kind=t(KINDS[kind].full_name))
        if model_view
        else t("BertViz head view: {kind}, layer {layer}", kind=t(KINDS[kind].full_name), layer=layer + 1),
    )


def weights_table(shown: AttentionView, chosen: ChosenMap, layer: int) -> None:
    """List the largest weights of the chosen map."""
    st.caption(t("The largest weights on this map, the largest first: {map}", map=name_of(chosen, layer)))
    cells = strongest(chosen.weights, MAX_ROWS)
    st.dataframe(
        pd.DataFrame(
            {
                t("query"): [shown.axes.queries[row] for row, _, _ in cells],
                t("position of the query"): [row + 1 for row, _, _ in cells],
                t("key"): [shown.axes.keys[column] for _, column, _ in cells],
                t("position of the key"): [column + 1 for _, column, _ in cells],
                chosen.unit: [value for *_, value in cells],
            }
        ),
        hide_index=True,
        height=300,
        alt=t("Table of the largest weights"),
        column_config={
            chosen.unit: st.column_config.ProgressColumn(
                format="%.4f", min_value=0.0, max_value=max(chosen.largest, 1e-9)
            )
        },
    )

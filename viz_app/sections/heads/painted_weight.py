"""Paint a weight: replace one attention weight of one head by a chosen value."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import streamlit as st

from model.inference.translation import Translation
from model.interventions import Head, Intervention, PaintedCell
from viz_app.components.attention_view import AttentionView, view
from viz_app.content.translation import t
from viz_app.figures.attention import clickable_map
from viz_app.sections.heads.intervention_choice import clear_paint, head_name, paint_cell
from viz_app.session.choices import settle_number
from viz_app.widgets.charts import draw
from viz_app.widgets.head_picker import pick_kind_and_head, picker_columns
from viz_app.widgets.headings import section
from viz_app.widgets.map_window import choose_window

__all__ = ["paint_weight"]


def paint_weight(intervention: Intervention, after: Translation, kinds: Sequence[str]) -> None:
    """Ask for a head, a weight and a cell of the head's map.

    Args:
        intervention: The changes so far.
        after: The translation with these changes.
        kinds: The kinds of attention of the model.
    """
    section(
        t("Paint a weight"),
        t(
            "Choose a new weight, then a cell. The other cells of its row share the rest. The map includes all your "
            "changes."
        ),
    )
    shown, head = head_choice(intervention, after, kinds)
    weights = np.asarray(shown.maps[head.layer, head.head])
    window = choose_window(weights, shown.axes)
    draw(
        clickable_map(
            window.of(weights),
            window.of_axes(shown.axes),
            window.of(shown.allowed[head.layer]),
            first=window.starts,
            height=380,
        ),
        key="paint_map",
        fills=True,
        on_select=partial(paint_cell, head),
        alt=t(
            "Attention weights of layer {layer}, head {head}; choose a cell to paint it",
            layer=head.layer + 1,
            head=head.head + 1,
        ),
    )
    painted_cells(intervention, after)


def head_choice(intervention: Intervention, after: Translation, kinds: Sequence[str]) -> tuple[AttentionView, Head]:
    *columns, weight, clear = picker_columns("kind", "head", "slider", "button")
    head = Head(*pick_kind_and_head(columns, {kind: after.maps[kind].shape[:2] for kind in kinds}))
    settle_number("painted_weight", 1.0, 0.0, 1.0)
    weight.slider(t("New weight"), 0.0, 1.0, step=0.05, key="painted_weight")
    clear.button(
        t("Clear paint"),
        help=t("Remove all painted weights."),
        disabled=not intervention.painted,
        on_click=clear_paint,
        width="stretch",
    )
    return view(after, head.kind, merge=False, hide_special=False), head


def painted_cells(intervention: Intervention, after: Translation) -> None:
    """List the painted cells: one line for those with an effect, and one line with the reason for each other cell."""
    painted = sorted(intervention.painted, key=lambda cell: (cell.head, cell.query))
    reasons = {cell: why_without_effect(cell, after) for cell in painted}
    if effective := [cell_name(cell) for cell, reason in reasons.items() if not reason]:
        st.caption(t("Painted: {cells}.", cells="; ".join(effective)))
    for cell, reason in reasons.items():
        if reason:
            st.caption(t("Painted without effect: {cell}. {reason}", cell=cell_name(cell), reason=reason))


def cell_name(cell: PaintedCell) -> str:
    return t(
        "{head}, row {row}, column {column}: {weight}",
        head=head_name(cell.head),
        row=cell.query + 1,
        column=cell.key + 1,
        weight=f"{cell.weight:g}",
    )


def why_without_effect(cell: PaintedCell, translation: Translation) -> str:
    """A sentence: why a painted cell changes nothing in this translation. Empty where it has its weight."""
    maps = translation.maps[cell.head.kind]
    queries, keys = maps.shape[2:]
    if cell.query >= queries or cell.key >= keys:
        return t("This map has {rows} rows and {columns} columns.", rows=queries, columns=keys)
    if not translation.mask_of(cell.head.kind)[cell.head.layer, cell.query, cell.key]:
        return t("This cell is masked.")
    weight = cell.weight_in(maps) or 0.0
    if abs(weight - cell.weight) < 1e-6:
        return ""
    # Heads are silenced after they are painted.
    return (
        t("Its row has only one key, and this key keeps all the weight.")
        if weight > cell.weight
        else t("Its head is silenced.")
    )

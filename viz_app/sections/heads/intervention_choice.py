"""The changes that a visitor makes to the heads, and the callbacks that make them.

Streamlit keeps callbacks as long as the session. So they are functions of the session only, not of a page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import streamlit as st

from model.config.kinds import KINDS
from model.inference.run import Result
from model.interventions import Head, Intervention, PaintedCell
from viz_app.content.numbers import joined, sentences
from viz_app.content.translation import t
from viz_app.services.attention_view import view
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import set_choice, settle_number
from viz_app.widgets.atlas_links import MapOf, draw_head_map
from viz_app.widgets.head_picker import choose_window, pick_kind_and_head, picker_columns
from viz_app.widgets.headings import section

__all__ = [
    "change",
    "describe_changes",
    "head_name",
    "head_states",
    "intervention_now",
    "paint_weight",
    "spoken_changes",
    "switch_positions",
    "toggle",
]

MAX_NAMED = 6  # heads; of more, only their number is read aloud


def intervention_now() -> Intervention:
    """The intervention in the session; a callback reads it here, because the page may show an older one."""
    current: Intervention = st.session_state["intervention"]
    return current


def change(**parts: Any) -> None:
    """Callback: change these parts of the intervention, and keep the others."""
    set_choice("intervention", replace(intervention_now(), **parts))


def toggle(kind: str, layer: int, number: int) -> None:
    """Callback of the board: change a head in the way that is chosen, or undo its change."""
    head, now = Head(kind, layer, number), intervention_now()
    if st.session_state["click_means"] == "flatten":
        change(uniform=now.uniform ^ {head}, ablated=now.ablated - {head})
    else:
        change(ablated=now.ablated ^ {head}, uniform=now.uniform - {head})


def switch_positions() -> None:
    change(positions=st.session_state["board_positions"])


def paint_cell(head: Head, query: int, key: int) -> None:
    """Callback of the map of this head: the chosen cell gets the new weight."""
    others = {cell for cell in intervention_now().painted if (cell.head, cell.query) != (head, query)}
    cell = PaintedCell(head, query, key, st.session_state["painted_weight"])
    change(painted=frozenset(others | {cell}))


def head_name(head: Head) -> str:
    kind = t(KINDS[head.kind].title)
    return t("{kind}, layer {layer}, head {head}", kind=kind, layer=head.layer + 1, head=head.head + 1)


def describe_changes(intervention: Intervention) -> str:
    """The changes of an intervention in one line, such as "heads silenced: 2, weights painted: 1"."""
    silenced, uniform, painted = map(len, (intervention.ablated, intervention.uniform, intervention.painted))
    changes = {
        t("heads silenced: {n}", n=silenced): silenced > 0,
        t("heads made uniform: {n}", n=uniform): uniform > 0,
        t("weights painted: {n}", n=painted): painted > 0,
        t("no positional encoding"): not intervention.positions,
    }
    return joined([change for change, there in changes.items() if there])


def spoken_changes(intervention: Intervention) -> str:
    """The changed heads, for a screen reader."""
    silenced, uniform = sorted(intervention.ablated), sorted(intervention.uniform)
    changes = {
        t("Silenced heads: {heads}.", heads=spoken_heads(silenced)): silenced,
        t("Uniform heads: {heads}.", heads=spoken_heads(uniform)): uniform,
    }
    return sentences([change for change, heads in changes.items() if heads])


def spoken_heads(heads: Sequence[Head]) -> str:
    return "; ".join(map(head_name, heads)) if len(heads) <= MAX_NAMED else str(len(heads))


def head_states(heads: Sequence[Head], intervention: Intervention) -> Mapping[str, list[list[str]]]:
    """Kind → (L, H) of "on", "off" (silenced) or "uniform"."""
    states: dict[str, list[list[str]]] = {head.kind: [] for head in heads}
    for head in heads:
        rows = states[head.kind]
        if head.head == 0:
            rows.append([])
        rows[-1].append("off" if head in intervention.ablated else "uniform" if head in intervention.uniform else "on")
    return states


def paint_weight(key: CheckpointKey, intervention: Intervention, after: Result, kinds: Sequence[str]) -> None:
    """Ask for a head, a weight and a cell of the head's map, after these changes."""
    section(
        t("Paint a weight"),
        t(
            "Choose a new weight, then a cell. The other cells of its row share the rest. The map includes all your "
            "changes."
        ),
    )
    *columns, slider, clear = picker_columns("kind", "head", "slider", "button")
    head = Head(*pick_kind_and_head(columns, {kind: after.maps[kind].shape[:2] for kind in kinds}))
    settle_number("painted_weight", 1.0, 0.0, 1.0)
    slider.slider(t("New weight"), 0.0, 1.0, step=0.05, key="painted_weight")
    clear.button(
        t("Clear paint"),
        help=t("Remove all painted weights."),
        disabled=not intervention.painted,
        on_click=change,
        kwargs={"painted": frozenset()},
        width="stretch",
    )
    shown = view(after, head.kind, merge=False, hide_special=False)
    weights = np.asarray(shown.maps[head.layer, head.head])
    draw_head_map(
        weights,
        shown.axes,
        shown.allowed[head.layer],
        window=choose_window(weights, shown.axes),
        of=MapOf(checkpoint=key, head=head, result=after),
        key="paint_map",
        least=380,
        action=t("choose to paint"),
        on_cell=partial(paint_cell, head),
        alt=t(
            "Attention weights of layer {layer}, head {head}; choose a cell to paint it",
            layer=head.layer + 1,
            head=head.head + 1,
        ),
    )
    painted_cells(intervention, after)


def painted_cells(intervention: Intervention, after: Result) -> None:
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


def why_without_effect(cell: PaintedCell, translation: Result) -> str:
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

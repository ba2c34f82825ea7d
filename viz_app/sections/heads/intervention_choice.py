"""The changes that a visitor makes to the model, and the callbacks that make them.

Streamlit keeps callbacks as long as the session. So they are functions of the session only, not of a page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import streamlit as st

from model.config.kinds import KINDS
from model.interventions import Head, Intervention, PaintedCell
from viz_app.session.choices import set_choice

__all__ = [
    "change",
    "clear_changes",
    "head_name",
    "head_states",
    "intervention_now",
    "paint_cell",
    "silence",
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
    """Replace parts of the intervention."""
    set_choice("intervention", replace(intervention_now(), **parts))


def clear_changes() -> None:
    set_choice("intervention", Intervention())


def silence(head: Head) -> None:
    """Silence this head only."""
    set_choice("intervention", Intervention(ablated=frozenset({head})))


def toggle(kind: str, layer: int, number: int) -> None:
    """Callback of the board: change a head in the way that is chosen, or undo its change."""
    head = Head(kind, layer, number)
    makes_uniform = st.session_state["click_means"] == "flatten"
    changed, other = ("uniform", "ablated") if makes_uniform else ("ablated", "uniform")
    current = intervention_now()
    change(**{changed: getattr(current, changed) ^ {head}, other: getattr(current, other) - {head}})


def switch_positions() -> None:
    change(positions=st.session_state["board_positions"])


def paint_cell(head: Head) -> None:
    """Callback of the map of this head: the chosen cell gets the new weight."""
    points = st.session_state["paint_map"].selection.points
    if points:
        query, key = points[0]["customdata"]
        others = {cell for cell in intervention_now().painted if (cell.head, cell.query) != (head, query)}
        weight = st.session_state["painted_weight"]
        change(painted=frozenset(others | {PaintedCell(head, query, key, weight)}))


def head_name(head: Head) -> str:
    return f"{KINDS[head.kind].title} layer {head.layer + 1} head {head.head + 1}"


def spoken_changes(intervention: Intervention) -> str:
    """The changed heads, for a screen reader."""
    lists = {"Silenced": sorted(intervention.ablated), "Uniform": sorted(intervention.uniform)}
    return " ".join(f"{state}: {spoken_heads(heads)}." for state, heads in lists.items() if heads)


def spoken_heads(heads: Sequence[Head]) -> str:
    return "; ".join(map(head_name, heads)) if len(heads) <= MAX_NAMED else f"{len(heads)} heads"


def head_states(heads: Sequence[Head], intervention: Intervention) -> Mapping[str, list[list[str]]]:
    """Kind → (L, H) of "on", "off" (silenced) or "uniform"."""
    states: dict[str, list[list[str]]] = {head.kind: [] for head in heads}
    for head in heads:
        rows = states[head.kind]
        if head.head == 0:
            rows.append([])
        rows[-1].append("off" if head in intervention.ablated else "uniform" if head in intervention.uniform else "on")
    return states

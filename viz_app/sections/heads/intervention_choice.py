"""The changes that a visitor makes to the model, and the callbacks that make them.

Streamlit keeps callbacks as long as the session. So they are functions of the session only, not of a page.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

import streamlit as st

from model.config.kinds import KINDS
from model.interventions import Head, Intervention, PaintedCell
from viz_app.content.numbers import sentences
from viz_app.content.translation import t
from viz_app.session.choices import set_choice

__all__ = [
    "clear_changes",
    "clear_paint",
    "head_name",
    "head_states",
    "intervention_now",
    "paint_cell",
    "silence",
    "silence_all",
    "spoken_changes",
    "switch_positions",
    "toggle",
]

MAX_NAMED = 6  # heads; of more, only their number is read aloud


def intervention_now() -> Intervention:
    """The intervention in the session; a callback reads it here, because the page may show an older one."""
    current: Intervention = st.session_state["intervention"]
    return current


def clear_changes() -> None:
    set_choice("intervention", Intervention())


def clear_paint() -> None:
    set_choice("intervention", replace(intervention_now(), painted=frozenset()))


def silence(head: Head) -> None:
    """Silence this head only."""
    set_choice("intervention", Intervention(ablated=frozenset({head})))


def silence_all(heads: Collection[Head]) -> None:
    """Silence these heads, and keep painted weights and positions."""
    changed = replace(intervention_now(), ablated=frozenset(heads), uniform=frozenset())
    set_choice("intervention", changed)


def toggle(kind: str, layer: int, number: int) -> None:
    """Callback of the board: change a head in the way that is chosen, or undo its change."""
    head = Head(kind, layer, number)
    now = intervention_now()
    if st.session_state["click_means"] == "flatten":
        changed = replace(now, uniform=now.uniform ^ {head}, ablated=now.ablated - {head})
    else:
        changed = replace(now, ablated=now.ablated ^ {head}, uniform=now.uniform - {head})
    set_choice("intervention", changed)


def switch_positions() -> None:
    set_choice("intervention", replace(intervention_now(), positions=st.session_state["board_positions"]))


def paint_cell(head: Head) -> None:
    """Callback of the map of this head: the chosen cell gets the new weight."""
    points = st.session_state["paint_map"].selection.points
    if points:
        query, key = points[0]["customdata"]
        now = intervention_now()
        others = {cell for cell in now.painted if (cell.head, cell.query) != (head, query)}
        cell = PaintedCell(head, query, key, st.session_state["painted_weight"])
        set_choice("intervention", replace(now, painted=frozenset(others | {cell})))


def head_name(head: Head) -> str:
    kind = t(KINDS[head.kind].title)
    return t("{kind}, layer {layer}, head {head}", kind=kind, layer=head.layer + 1, head=head.head + 1)


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

"""A switch for every head."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import streamlit as st

from model.config.kinds import KINDS
from viz_app.components.mounting import component

__all__ = ["HeadFace", "head_switches"]

Grid = Sequence[Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class HeadFace:
    """How the switch of a head looks after its effect was measured."""

    colour: str
    ink: str
    note: str  # the effect in words
    decides: bool  # without this head the model writes another word


def head_switches(
    states: Mapping[str, Grid],
    *,
    titles: Mapping[str, str],
    faces: Mapping[str, Sequence[Sequence[HeadFace]]],
    key: str,
    on_toggle: Callable[[str, int, int], None],
) -> None:
    """Draw a switch for every head.

    Args:
        states: Kind → (L, H) of "on", "off" or "uniform".
        titles: Kind → heading.
        faces: Kind → (L, H); empty if no effects were measured.
        key: Of the component.
        on_toggle: Called with kind, layer and head, counted from 0.
    """

    def clicked(sent: Mapping[str, Any]) -> None:
        for kind, layer, head in new_clicks(key, sent):
            on_toggle(kind, layer, head)

    component(
        "head_switches",
        "ui/head_switches",
        key=key,
        clicks=clicked,
        data={
            "counted": st.session_state.get(f"{key}_counted", {}),
            "boards": [
                {
                    "kind": kind,
                    "name": KINDS[kind].full_name,
                    "title": titles[kind],
                    "states": [list(row) for row in rows],
                    "faces": [[asdict(face) for face in row] for row in faces.get(kind, ())],
                }
                for kind, rows in states.items()
            ],
        },
    )


def new_clicks(key: str, sent: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """The kind, layer and head of each click that was not counted yet, the oldest first. Now they are counted."""
    counted, first = st.session_state.get(f"{key}_counted", {}), int(sent["first"])
    done = max(counted["clicks"] - first, 0) if counted.get("board") == sent["board"] else 0
    st.session_state[f"{key}_counted"] = {"board": sent["board"], "clicks": first + max(len(sent["places"]), done)}
    return [(str(kind), int(layer), int(head)) for kind, layer, head in sent["places"][done:]]

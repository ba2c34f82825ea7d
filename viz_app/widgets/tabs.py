"""Tabs: the page draws only the open tab, and links name it."""

from collections.abc import Callable, Mapping

import streamlit as st

from viz_app.session.choices import set_choice, settle

__all__ = ["draw_tabs"]


def draw_tabs(key: str, parts: Mapping[str, tuple[str, Callable[[], object]]], *, first: str = "") -> None:
    """Show tabs, and draw the one that is open.

    Args:
        key: The name of the choice.
        parts: Id → label, and the function that draws the tab. Links name the ids, see `choice_forms.OLD_TABS`.
        first: The id of the tab that is open without a choice; by default the first one.
    """
    labels = {name: label for name, (label, _) in parts.items()}
    settle(key, first or next(iter(labels)), labels)
    shown = f"{key}_shown"
    st.session_state[shown] = labels[st.session_state[key]]
    places = st.tabs(list(labels.values()), key=shown, on_change=open_tab, args=(key, labels))
    for place, (_, draw) in zip(places, parts.values(), strict=True):
        if place.open:
            with place:
                draw()


def open_tab(key: str, labels: Mapping[str, str]) -> None:
    """Callback of the tabs: choose the one that is open now."""
    set_choice(key, next(name for name, label in labels.items() if label == st.session_state[f"{key}_shown"]))

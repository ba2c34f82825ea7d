"""Tabs: the page draws only the open tab, and links name it."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import streamlit as st

from viz_app.session.choices import set_choice, settle

if TYPE_CHECKING:
    from viz_app.server.streamlit_bridge import TabContainer

__all__ = ["tabs"]


def tabs(labels: Mapping[str, str], key: str, *, first: str = "") -> Sequence["TabContainer"]:
    """Show tabs. The page draws only the one whose `open` is true.

    Args:
        labels: Id → label. Links name the ids, see `choice_forms.OLD_TABS`.
        key: The name of the choice.
        first: The id of the tab that is open without a choice; by default the first one.
    """
    settle(key, first or next(iter(labels)), labels)
    shown = f"{key}_shown"
    st.session_state[shown] = labels[st.session_state[key]]
    return st.tabs(list(labels.values()), key=shown, on_change=open_tab, args=(key, labels))


def open_tab(key: str, labels: Mapping[str, str]) -> None:
    """Callback of `tabs`: choose the tab that is open now."""
    set_choice(key, next(name for name, label in labels.items() if label == st.session_state[f"{key}_shown"]))

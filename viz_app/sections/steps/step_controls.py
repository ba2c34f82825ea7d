"""The row of controls: the search, undo, and a button that clears forced words."""

from typing import Literal

import streamlit as st

from model.inference.opening import AnyConfig
from viz_app.content.translation import N_, t
from viz_app.server.streamlit_bridge import DeltaGenerator
from viz_app.session.choices import settle
from viz_app.widgets import forced_tokens
from viz_app.widgets.forced_words_note import clear_forced_words_button

__all__ = ["step_controls"]

Search = Literal["greedy", "beam"]
SEARCHES: dict[Search, str] = {"greedy": N_("Greedy, step by step"), "beam": N_("Beam search as a tree")}


def step_controls(config: AnyConfig, *, forced: bool) -> tuple[Search, DeltaGenerator]:
    """Draw the row.

    Args:
        config: The configuration of the checkpoint.
        forced: Whether words are forced.

    Returns:
        The search, and the column for its setting.
    """
    with st.container(key="set_steps"):
        searches, setting, undo, clear = st.columns([3.2, 2.3, 1, 1.7], vertical_alignment="bottom")
    settle("steps_view", "greedy", SEARCHES)
    search = searches.segmented_control(
        t("Search"), list(SEARCHES), format_func=lambda one: t(SEARCHES[one]), required=True, key="steps_view"
    )
    undo.button(
        t("Undo"),
        icon=":material/undo:",
        disabled=not forced_tokens.can_undo(),
        on_click=forced_tokens.undo,
        width="stretch",
    )
    with clear:
        clear_forced_words_button(config, disabled=not forced)
    return search or "greedy", setting

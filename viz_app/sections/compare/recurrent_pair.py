"""A way to two recurrent networks: one with attention, one without."""

from collections.abc import Collection

import streamlit as st

from viz_app.content.demonstrations import DEMONSTRATIONS, WITH_ATTENTION, WITHOUT_ATTENTION
from viz_app.session.choices import set_choice

__all__ = ["offer_two_networks"]


def offer_two_networks(names: Collection[str]) -> None:
    """A button that compares the two, where both are among the checkpoints and are not compared yet."""
    pair = {WITH_ATTENTION, WITHOUT_ATTENTION}
    if pair <= set(names) and {st.session_state["checkpoint"], st.session_state["beside"]} != pair:
        st.button(
            "Compare with and without attention",
            icon=":material/compare:",
            type="tertiary",
            on_click=compare_them,
            help="Two recurrent networks, trained in the same way: one has attention, the other has none.",
        )


def compare_them() -> None:
    """Callback: both networks, and a sentence that is too long for the one without attention."""
    set_choice("checkpoint", WITH_ATTENTION)
    set_choice("beside", WITHOUT_ATTENTION)
    set_choice("text", DEMONSTRATIONS[WITH_ATTENTION].compared)

"""A button that compares two recurrent networks: one with attention, one without."""

from collections.abc import Collection

import streamlit as st

from viz_app.content.demonstrations import DEMONSTRATIONS, WITH_ATTENTION, WITHOUT_ATTENTION
from viz_app.content.translation import t
from viz_app.session.choices import set_choice

__all__ = ["offer_two_networks"]


def offer_two_networks(names: Collection[str]) -> None:
    """Draw the button, if both networks are among the checkpoints and the page does not compare them yet.

    Args:
        names: The names of all checkpoints.
    """
    pair = {WITH_ATTENTION, WITHOUT_ATTENTION}
    if pair <= set(names) and {st.session_state["checkpoint"], st.session_state["beside"]} != pair:
        st.button(
            t("Compare with and without attention"),
            icon=":material/compare:",
            type="tertiary",
            on_click=compare_two_networks,
            help=t("Two recurrent networks, trained in the same way: one with attention, one without."),
        )


def compare_two_networks() -> None:
    """Callback: choose both networks, and a sentence that is too long for the one without attention."""
    set_choice("checkpoint", WITH_ATTENTION)
    set_choice("beside", WITHOUT_ATTENTION)
    set_choice("text", DEMONSTRATIONS[WITH_ATTENTION].compared)

"""The model card of a checkpoint, in the visitor's language if it has one."""

import streamlit as st

from viz_app.content.cards import LONGEST_CARD
from viz_app.content.numbers import decimal
from viz_app.content.plain import plain
from viz_app.content.translation import language, t, worded
from viz_app.services import listing
from viz_app.services.listing import CheckpointKey

__all__ = ["show_card"]


def show_card(key: CheckpointKey) -> None:
    """Show the card, or say that there is none."""
    try:
        card = listing.model_card(key, language())
    except ValueError as error:
        st.warning(plain(worded(error)))
        return
    st.markdown(card.text or t("This checkpoint has no model card (README.md)."))
    if card.cut:
        limit = decimal(LONGEST_CARD)
        st.caption(t("This card is longer. Only its first {limit} characters are shown.", limit=limit))

"""The field for a film review, which two pages share, and the list of examples."""

import streamlit as st

from model.inference.opening import AnyConfig
from viz_app.content.examples import REVIEWS
from viz_app.content.translation import t
from viz_app.services import translations
from viz_app.session.choices import settle
from viz_app.widgets.cleaning_note import note_cleaning
from viz_app.widgets.text_field import note_text_too_long_for_link, use_example

__all__ = ["ask_for_review", "example_list"]


def ask_for_review(config: AnyConfig, *, height: int, opening: str = REVIEWS[0]) -> str:
    """Ask for a review, which may be empty, in a field of this height in pixels."""
    settle("review", opening)
    text = st.text_area(
        t("Type or paste a film review in English"),
        key="review",
        height=height,
        max_chars=translations.MAX_CHARACTERS,
    )
    note_text_too_long_for_link(text or "")
    note_cleaning(config, text or "")
    return text or ""


def example_list() -> None:
    """Offer reviews to choose from, before the field itself."""
    st.selectbox(
        t("Examples"),
        REVIEWS,
        index=None,
        key="review_example",
        placeholder=t("Choose a review"),
        on_change=use_example,
        args=("review_example", "review"),
    )

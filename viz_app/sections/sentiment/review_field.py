"""The field for a film review, which two pages share, and the list of examples."""

import streamlit as st

from model.inference.opening import AnyConfig
from model.text.pair import Text, texts_of
from viz_app.content.examples import REVIEWS
from viz_app.content.translation import t
from viz_app.services import results
from viz_app.session.choices import settle
from viz_app.widgets.cleaning_note import note_cleaning
from viz_app.widgets.second_text import separator_in, with_second_text
from viz_app.widgets.text_field import note_text_too_long_for_link, use_example

__all__ = ["ask_for_review", "example_list"]


def ask_for_review(config: AnyConfig, *, height: int, opening: str = REVIEWS[0]) -> Text:
    """Ask for a review, which may be empty, in a field of this height in pixels; or for a pair of texts."""
    settle("review", opening)
    text = st.text_area(
        t("Type or paste a text") if separator_in(config) else t("Type or paste a film review in English"),
        key="review",
        height=height,
        max_chars=results.MAX_CHARACTERS,
    )
    whole = with_second_text(config, text or "", st.container())
    note_text_too_long_for_link(*texts_of(whole))
    note_cleaning(config, *texts_of(whole))
    return whole


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

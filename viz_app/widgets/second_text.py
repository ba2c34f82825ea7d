"""The field for the second text of a pair. Only models whose tokenizer has a template for pairs have one."""

import streamlit as st

from model.config.foreign import ForeignConfig
from model.inference.opening import AnyConfig
from model.text.pair import Text, TextPair, paired
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t
from viz_app.server.server_state import MAX_CHARACTERS
from viz_app.server.streamlit_bridge import DeltaGenerator
from viz_app.session.choices import settle
from viz_app.session.page_facts import add_fact

__all__ = ["PAIR_CUT", "note_shared_second_text", "separator_in", "with_second_text"]

PAIR_CUT = N_(
    "This model has {positions} positions. {dropped} tokens at the end of the longer text, or of both texts, were left "
    "out."
)


def separator_in(config: AnyConfig) -> str:
    """The text of the tokens between two texts; "" for a model that reads single texts."""
    return config.tokenizer.separator if isinstance(config, ForeignConfig) else ""


def with_second_text(config: AnyConfig, text: str, place: DeltaGenerator) -> Text:
    """Ask for the second text if the model reads pairs. Without one, the text is read alone.

    Args:
        config: The configuration of the checkpoint.
        text: The first text.
        place: The place of the field.
    """
    separator = separator_in(config)
    if not separator:
        return text
    settle("second", "")
    second: str = place.text_input(t("Second text (optional)"), key="second", max_chars=MAX_CHARACTERS) or ""
    if second.strip():
        add_fact(t("Second text"), second)
    elif separator in text:
        st.caption(
            t(
                "{separator} separates two texts. The model reads what follows as the second text, as from the field "
                "“Second text”.",
                separator=plain(separator),
            )
        )
    return paired(text, second)


def note_shared_second_text(text: Text) -> None:
    """Where two runs are compared: they differ in their first text only."""
    if isinstance(text, TextPair):
        st.caption(t("Both runs read the same second text."))

"""Words that a visitor made the model write, and what it would have written."""

import streamlit as st

from viz_app.content.plain import plain
from viz_app.services import loading, translations
from viz_app.services.listing import CheckpointKey
from viz_app.widgets import forced_tokens
from viz_app.widgets.search_picker import typed_translation

__all__ = ["dropped_tokens_warning", "forced_words_note"]


def dropped_tokens_warning(forced: translations.Forced, positions: int) -> str:
    """A sentence on typed tokens that the model has no positions for; nothing where there are positions for all."""
    typed = len(forced)
    if typed <= positions:
        return ""
    return (
        f"Your translation has {typed:,} tokens, the end mark included, and this model has {positions:,} positions: "
        f"the last {typed - positions:,} tokens were left out. Type a shorter translation."
    )


def forced_words_note(key: CheckpointKey, text: str, forced: translations.Forced) -> None:
    """Name them and what they cost, and offer the way back."""
    free, translation = translations.translation_of(key, text), translations.translation_of(key, text, forced=forced)
    written = translation.written
    typed = typed_translation(loading.config_of(key))
    if typed:
        words = "You typed this translation"
    else:
        words = "Forced: " + ", ".join(
            f"“{plain(written[at].text)}” at step {at + 1}" for at, _ in forced if at < len(written)
        )
    said, back = st.columns([5, 1.3], vertical_alignment="center")
    said.caption(
        f"{words}. Its log-probability is {translation.log_prob:.2f}; by itself the model writes “{plain(free.text)}” "
        f"with {free.log_prob:.2f}."
    )
    if too_long := dropped_tokens_warning(forced, loading.config_of(key).model.max_length):
        st.warning(too_long)
    back.button(
        "Force nothing",
        icon=":material/restart_alt:",
        on_click=forced_tokens.clear_typed_translation if typed else forced_tokens.clear_forced_tokens,
        width="stretch",
    )

"""What a page says about forced words, and the button that clears them."""

import streamlit as st

from model.inference.run import Forced, Run
from viz_app.content.numbers import decimal, joined, sentences
from viz_app.content.plain import plain
from viz_app.content.translation import t
from viz_app.services import models
from viz_app.services.listing import CheckpointKey
from viz_app.widgets.run_form import clear_forced_tokens, typed_translation

__all__ = ["clear_forced_words_button", "dropped_tokens_warning", "forced_words_caption", "forced_words_note"]


def dropped_tokens_warning(forced: Forced, positions: int) -> str:
    """A sentence for a typed translation that has more tokens than the model has positions; else empty."""
    typed = len(forced)
    if typed <= positions:
        return ""
    return t(
        "Your translation has {typed} tokens, with the end mark, and this model has {positions} positions. The "
        "last {left_out} tokens were left out. Type a shorter translation.",
        typed=decimal(typed),
        positions=decimal(positions),
        left_out=decimal(typed - positions),
    )


def forced_words_caption(key: CheckpointKey, run: Run) -> None:
    """Name the forced words and their log-probability, and the translation without them.

    Args:
        key: The key of the checkpoint.
        run: A run with at least one forced token.
    """
    config = models.config_of(key)
    free, translation = models.result_of(key, run.usual), models.result_of(key, run)
    written = translation.written
    words = [
        t("“{word}” at step {step}", word=plain(written[position].text), step=position + 1)
        for position, _ in run.forced
        if position < len(written)
    ]
    typed = bool(typed_translation(config))
    first = t("You typed this translation.") if typed else t("Forced: {words}.", words=joined(words))
    comparison = t(
        "The translation has the log-probability {forced}. Without forced words, the model writes “{text}”. The "
        "log-probability of this text is {free}.",
        forced=decimal(translation.log_prob, digits=2),
        text=plain(free.text),
        free=decimal(free.log_prob, digits=2),
    )
    st.caption(sentences([first, comparison]))
    if warning := dropped_tokens_warning(run.forced, config.model.max_length):
        st.warning(warning)


def clear_forced_words_button(*, disabled: bool = False) -> None:
    """A button that clears the forced words, or the translation that the visitor typed."""
    st.button(
        t("Clear forced words"),
        icon=":material/restart_alt:",
        disabled=disabled,
        on_click=clear_forced_tokens,
        width="stretch",
    )


def forced_words_note(key: CheckpointKey, run: Run) -> None:
    """The caption and the button side by side."""
    caption, clear = st.columns([5, 1.6], vertical_alignment="center")
    with caption:
        forced_words_caption(key, run)
    with clear:
        clear_forced_words_button()

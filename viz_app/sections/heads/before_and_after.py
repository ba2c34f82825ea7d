"""The text as trained and with the visitor's changes."""

import streamlit as st

from model.inference.translation import Translation
from model.interventions import Intervention
from viz_app.content.plain import plain
from viz_app.services import loading, translations
from viz_app.services.listing import CheckpointKey
from viz_app.widgets.marked_text import compared

__all__ = ["before_and_after"]

LOG_PROBABILITIES = {
    "translation": "The translation as trained has the log-probability {before:.2f}. "
    "The changed model gives it {after:.2f} ({change:+.2f} nats).",
    "continuation": "The continuation as trained has the log-probability {before:.2f}. "
    "The changed model gives it {after:.2f} ({change:+.2f} nats).",
}


def before_and_after(
    key: CheckpointKey, text: str, before: Translation, after: Translation, intervention: Intervention
) -> None:
    """Compare the two texts and their log-probabilities; stands above the board, which is long on a telephone.

    Args:
        key: The key of the checkpoint.
        text: The source.
        before: What the model wrote as trained.
        after: What it writes with the changes.
        intervention: The changes.
    """
    if before.text:
        st.html(compared([("as trained", before.text), ("changed", after.text)], languages=after.languages[1:]))
    else:
        st.info("This model writes nothing. The map below shows the effect of your changes.")
        if mask := getattr(loading.config_of(key).tokenizer, "mask", ""):
            st.caption(f"Replace a word by {plain(mask)}, and the model guesses that word.")
    if before.written:
        old = before.log_prob
        new = rescored(key, text, before, intervention) if intervention else old
        sentence = LOG_PROBABILITIES["continuation" if before.prompt_length else "translation"]
        st.caption(sentence.format(before=old, after=new, change=new - old))


def rescored(key: CheckpointKey, text: str, before: Translation, intervention: Intervention) -> float:
    """The log-probability that the changed model gives to the tokens written as trained."""
    written = tuple((position, token.id) for position, token in enumerate(before.written))
    return translations.changed_log_prob_of(key, text, written, intervention)

"""The text as trained and with the visitor's changes."""

import streamlit as st

from model.inference.translation import Translation
from model.interventions import Intervention
from model.text.pair import Text
from viz_app.content.plain import plain, visible
from viz_app.content.translation import N_, t
from viz_app.services import classifications, loading, translations
from viz_app.services.listing import CheckpointKey
from viz_app.services.translations import UNTOUCHED
from viz_app.widgets.marked_text import compared

__all__ = ["before_and_after"]

LOG_PROBABILITIES = {
    "translation": N_(
        "The translation as trained has the log-probability {before}. The changed model gives it {after} ({change} "
        "nats)."
    ),
    "continuation": N_(
        "The continuation as trained has the log-probability {before}. The changed model gives it {after} ({change} "
        "nats)."
    ),
}


def before_and_after(
    key: CheckpointKey, text: Text, before: Translation, after: Translation, intervention: Intervention
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
        st.html(compared([(t("as trained"), before.text), (t("changed"), after.text)], languages=after.languages[1:]))
    else:
        mask = getattr(loading.config_of(key).tokenizer, "mask", "")
        st.info(
            t("This model writes nothing. The map below shows the effect of your changes.")
            if mask
            else t("An encoder without an output layer writes nothing. The map below shows the effect of your changes.")
        )
        if mask:
            st.caption(t("Replace a word by {mask}, and the model guesses that word.", mask=plain(mask)))
    if loading.config_of(key).task == "classification":
        class_before_and_after(key, text, before.text, intervention)
    if before.written:
        old = before.log_prob
        new = rescored(key, text, before, intervention) if intervention else old
        sentence = LOG_PROBABILITIES["continuation" if before.prompt_length else "translation"]
        st.caption(t(sentence, before=f"{old:.2f}", after=f"{new:.2f}", change=f"{new - old:+.2f}"))


def class_before_and_after(key: CheckpointKey, text: Text, label: str, intervention: Intervention) -> None:
    """How likely the class as trained is before and after the changes."""
    readings = [classifications.classification_of(key, text, change) for change in (UNTOUCHED, intervention)]
    before, after = (reading.probabilities[label] for reading in readings)
    old, new = (classifications.log_odds_of_label(key, text, label, change) for change in (UNTOUCHED, intervention))
    st.caption(
        t(
            "The model as trained gives “{label}” the probability {before} (log-odds {old}). The changed model gives "
            "it {after} (log-odds {new}: {change} nats).",
            label=plain(visible(label)),
            before=f"{before:.3f}",
            old=f"{old:.2f}",
            after=f"{after:.3f}",
            new=f"{new:.2f}",
            change=f"{new - old:+.2f}",
        )
    )


def rescored(key: CheckpointKey, text: Text, before: Translation, intervention: Intervention) -> float:
    """The log-probability that the changed model gives to the tokens written as trained."""
    written = tuple((position, token.id) for position, token in enumerate(before.written))
    return translations.changed_log_prob_of(key, text, written, intervention)

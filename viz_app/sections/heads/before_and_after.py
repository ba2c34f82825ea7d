"""The text as trained and with the visitor's changes."""

import streamlit as st

from model.inference.run import Run
from viz_app.content.plain import plain, visible
from viz_app.content.translation import N_, t
from viz_app.services import loading, results
from viz_app.services.listing import CheckpointKey
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


def before_and_after(key: CheckpointKey, trained: Run, changed: Run) -> None:
    """Compare the two texts and their log-probabilities; stands above the board, which is long on a telephone.

    Args:
        key: The key of the checkpoint.
        trained: The run of the model as trained.
        changed: The run with the changes.
    """
    before, after = results.result_of(key, trained), results.result_of(key, changed)
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
        class_before_and_after(key, trained, changed)
    if before.written:
        old = before.log_prob
        same = tuple((position, token.id) for position, token in enumerate(before.written))
        rescored = Run(text=changed.text, forced=same, changes=changed.changes)
        new = results.log_prob_of(key, rescored) if changed.changes else old
        sentence = LOG_PROBABILITIES["continuation" if before.prompt_length else "translation"]
        st.caption(t(sentence, before=f"{old:.2f}", after=f"{new:.2f}", change=f"{new - old:+.2f}"))


def class_before_and_after(key: CheckpointKey, trained: Run, changed: Run) -> None:
    """How likely the class as trained is before and after the changes."""
    label = results.result_of(key, trained).text
    before, after = (results.classification_of(key, run).probabilities[label] for run in (trained, changed))
    old, new = (results.log_odds_of_label(key, run, label) for run in (trained, changed))
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

"""Which words decide the class of a review: each word is deleted in turn."""

from functools import partial

import pandas as pd
import streamlit as st

from model.analysis.deletion import Deletion, count_words
from model.checkpoints.languages import tag
from model.inference.classify import Classification
from model.inference.run import Run
from viz_app.content.numbers import percent
from viz_app.content.plain import plain
from viz_app.content.translation import t, tn
from viz_app.services import analyses, loading, results
from viz_app.services.listing import CheckpointKey
from viz_app.widgets.charts import numbers
from viz_app.widgets.headings import section
from viz_app.widgets.marked_text import changed_text

__all__ = ["word_deletion"]


def word_deletion(key: CheckpointKey, run: Run) -> None:
    """Draw how the probability of the class changes without each word."""
    reading, deletions = results.classification_of(key, run), analyses.deletions_of(key, run)
    if not deletions:
        st.caption(t("Type two or more words to see which of them decide."))
        return
    label = plain(reading.label)
    section(t("Which words decide? Each word is deleted in turn"))
    st.caption(t("Blue: without this word, “{label}” is less probable. Red: it is more probable.", label=label))
    st.html(
        changed_text(
            [deletion.word for deletion in deletions],
            [deletion.change for deletion in deletions],
            tag(loading.config_of(key).tokenizer.source_language),
            parts=[deletion.part for deletion in deletions],
        )
    )
    whole = reading.probabilities[reading.label]
    summary_column, table_column = st.columns([6, 1.1], vertical_alignment="center")
    summary_column.caption(plain(f"{strongest_word(deletions, reading)} {words_that_change_class(deletions, reading)}"))
    with table_column:
        numbers(
            {"": partial(deletion_table, deletions, reading)},
            summary=t("Probability of “{label}” with all words: {share}.", label=reading.label, share=percent(whole)),
            key="deletions",
            alt=t("The class of the review without each word"),
        )
    if left_out := count_words(run.text) - len(deletions):
        st.caption(
            tn(
                "The review is too long to delete every word. Its last word was not deleted.",
                "The review is too long to delete every word. Its last {n} words were not deleted.",
                n=left_out,
            )
        )


def strongest_word(deletions: tuple[Deletion, ...], reading: Classification) -> str:
    """Name the word that changes the probability most when it is deleted."""
    strongest = max(deletions, key=lambda deletion: abs(deletion.change))
    whole = reading.probabilities[reading.label]
    return t(
        "“{word}” matters most: without it, the probability of “{label}” changes from {before} to {after}.",
        word=strongest.name,
        label=reading.label,
        before=percent(whole),
        after=percent(whole + strongest.change),
    )


def words_that_change_class(deletions: tuple[Deletion, ...], reading: Classification) -> str:
    """Say how many single words change the class when they are deleted."""
    deciding = [deletion for deletion in deletions if deletion.label != reading.label]
    if not deciding:
        return t("No single word changes the class.")
    if len(deciding) == 1:
        return t("Without “{word}” the class is “{label}”.", word=deciding[0].name, label=deciding[0].label)
    return tn(
        "{n} word changes the class when it is deleted.",
        "{n} words change the class when one of them is deleted.",
        n=len(deciding),
    )


def deletion_table(deletions: tuple[Deletion, ...], reading: Classification) -> pd.DataFrame:
    """Return a row for each word, with the strongest decrease first."""
    whole, change = reading.probabilities[reading.label], t("change")
    return pd.DataFrame(
        [
            {
                t("position"): position,
                t("word"): deletion.name,
                change: deletion.change,
                t("{label} without it", label=reading.label): whole + deletion.change,
                t("class without it"): deletion.label,
            }
            for position, deletion in enumerate(deletions, start=1)
        ]
    ).sort_values(change, ignore_index=True)

"""Which words decide the class of a review: each word is deleted in turn."""

from functools import partial

import pandas as pd
import streamlit as st

from model.analysis.deletion import Deletion, word_spans
from model.checkpoints.languages import tag
from model.inference.classify import Classification
from viz_app.content.plain import percent, plain
from viz_app.services import classifications, loading
from viz_app.services.listing import CheckpointKey
from viz_app.widgets.charts import numbers
from viz_app.widgets.headings import section
from viz_app.widgets.marked_text import changed_text

__all__ = ["word_deletion"]


def word_deletion(key: CheckpointKey, text: str, reading: Classification) -> None:
    """Draw how the probability of the class changes without each word."""
    deletions = classifications.deletions_of(key, text)
    if not deletions:
        st.caption("Type two or more words to see which of them decide.")
        return
    label = plain(reading.label)
    section("Which words decide? Each word is deleted in turn")
    st.caption(f"Blue: without this word, “{label}” is less probable. Red: it is more probable.")
    st.html(
        changed_text(
            [deletion.word for deletion in deletions],
            [deletion.change for deletion in deletions],
            tag(loading.config_of(key).tokenizer.source_language),
        )
    )
    whole = reading.probabilities[reading.label]
    summary_column, table_column = st.columns([6, 1.1], vertical_alignment="center")
    summary_column.caption(plain(f"{strongest_word(deletions, reading)} {words_that_change_class(deletions, reading)}"))
    with table_column:
        numbers(
            {"": partial(deletion_table, deletions, reading)},
            summary=f"Probability of “{reading.label}” with all words: {percent(whole)}.",
            key="deletions",
            alt="The class of the review without each word",
        )
    if left_out := len(word_spans(text)) - len(deletions):
        st.caption(f"The review is too long to delete every word. Its last {left_out} words were not deleted.")


def strongest_word(deletions: tuple[Deletion, ...], reading: Classification) -> str:
    """Name the word that changes the probability most when it is deleted."""
    strongest = max(deletions, key=lambda deletion: abs(deletion.change))
    whole = reading.probabilities[reading.label]
    return (
        f"“{strongest.word}” matters most: without it, the probability of “{reading.label}” changes from "
        f"{percent(whole)} to {percent(whole + strongest.change)}."
    )


def words_that_change_class(deletions: tuple[Deletion, ...], reading: Classification) -> str:
    """Say how many single words change the class when they are deleted."""
    deciding = [deletion for deletion in deletions if deletion.label != reading.label]
    if not deciding:
        return "No single word changes the class."
    if len(deciding) == 1:
        return f"Without “{deciding[0].word}” the class is “{deciding[0].label}”."
    return f"{len(deciding)} words change the class when one of them is deleted."


def deletion_table(deletions: tuple[Deletion, ...], reading: Classification) -> pd.DataFrame:
    """Return a row for each word, with the strongest decrease first."""
    whole = reading.probabilities[reading.label]
    return pd.DataFrame(
        [
            {
                "position": position,
                "word": deletion.word,
                "change": deletion.change,
                f"{reading.label} without it": whole + deletion.change,
                "class without it": deletion.label,
            }
            for position, deletion in enumerate(deletions, start=1)
        ]
    ).sort_values("change", ignore_index=True)

"""What decides the class of a review: each word is deleted in turn, beside what the model looks at."""

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
from viz_app.widgets.chips import changed_text
from viz_app.widgets.headings import section

__all__ = ["word_deletion"]


def word_deletion(key: CheckpointKey, text: str, reading: Classification) -> None:
    """Draw how the probability of the class changes without each word."""
    found = classifications.deletions_of(key, text)
    if not found:
        st.caption("Type two words or more to see which of them decides.")
        return
    label = plain(reading.label)
    section("What decides? Each word is deleted in turn")
    st.caption(f"Blue: without this word “{label}” is less probable; red: more probable.")
    st.html(
        changed_text(
            [one.word for one in found],
            [one.change for one in found],
            tag(loading.config_of(key).tokenizer.source_language),
        )
    )
    whole = reading.probabilities[reading.label]
    says, table = st.columns([6, 1.1], vertical_alignment="center")
    says.caption(summary(found, reading))
    with table:
        numbers(
            {"": partial(deletion_table, found, reading)},
            summary=f"Probability of “{reading.label}” with all words: {percent(whole)}.",
            key="deletions",
            alt="What the class becomes without each word",
        )
    if left_out := len(word_spans(text)) - len(found):
        st.caption(f"The last {left_out} words are not deleted: the text is too long for that.")


def summary(found: tuple[Deletion, ...], reading: Classification) -> str:
    """The word that matters most, and how many words alone change the class."""
    strongest = max(found, key=lambda one: abs(one.change))
    turning = [one for one in found if one.label != reading.label]
    alone = f"Without “{turning[0].word}” the class is “{turning[0].label}”." if turning else ""
    if len(turning) > 1:
        alone = f"{len(turning)} words change the class when one of them is deleted."
    whole = reading.probabilities[reading.label]
    return plain(
        f"“{strongest.word}” matters most: without it “{reading.label}” goes from {percent(whole)} to "
        f"{percent(whole + strongest.change)}. {alone or 'No single word changes the class.'}"
    )


def deletion_table(found: tuple[Deletion, ...], reading: Classification) -> pd.DataFrame:
    whole = reading.probabilities[reading.label]
    return pd.DataFrame(
        [
            {
                "position": place,
                "word": one.word,
                "change": one.change,
                f"{reading.label} without it": whole + one.change,
                "class without it": one.label,
            }
            for place, one in enumerate(found, start=1)
        ]
    ).sort_values("change", ignore_index=True)

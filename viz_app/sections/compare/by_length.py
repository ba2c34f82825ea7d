"""BLEU of two checkpoints by the length of the sentence. Attention was invented for long sentences."""

import re
from collections.abc import Mapping

import streamlit as st

from model.checkpoints.checkpoint import CheckpointConfig
from model.inference.opening import AnyConfig
from viz_app.content.numbers import joined, sentences
from viz_app.content.translation import t
from viz_app.figures.training import curves
from viz_app.widgets.charts import draw
from viz_app.widgets.headings import section

__all__ = ["by_length"]

HEIGHT = 360


def by_length(configs: Mapping[str, AnyConfig], *, expanded: bool) -> None:
    """Show BLEU by the length of the source, if it was measured for all checkpoints in the same way.

    Args:
        configs: Name of a checkpoint → its configuration.
        expanded: Open the section at once.
    """
    measured = {name: one.bleu_by_length for name, one in configs.items() if isinstance(one, CheckpointConfig)}
    lengths = next(iter(measured.values()), {})
    if len(measured) < len(configs) or not lengths or any(one.keys() != lengths.keys() for one in measured.values()):
        return
    place = st.expander(
        t("Quality for longer sentences"),
        icon=":material/trending_down:",
        expanded=expanded,
        on_change="rerun",
        key="by_length_opened",
    )
    if not place.open:
        return
    one_vector = any(not config.model.kinds for config in configs.values())
    with place:
        section(t("BLEU by the length of the source"), measurement(one_vector=one_vector))
        draw(
            curves(
                [words_in(length) for length in lengths],
                {name: [one[words] for words in lengths] for name, one in measured.items()},
                title=t("BLEU, lower-cased"),
                height=HEIGHT,
                over=t("words of the source"),
            ),
            key="by_length",
            alt=t("BLEU of {names} by the number of words in the source", names=joined(list(measured))),
        )


def measurement(*, one_vector: bool) -> str:
    """How BLEU was measured, and what to look for if a network without attention is among the checkpoints."""
    measured = t(
        "Measured on the 1,000 captions of the test set in lower case, as in figure 2 of Bahdanau et al. 2015."
    )
    if not one_vector:
        return measured
    return sentences(
        [measured, t("A network that reads a whole sentence into one vector gets worse for longer sentences.")]
    )


def words_in(length: str) -> str:
    """A range of lengths as the visitor reads it. A checkpoint names it in English: "9 to 12", "21 and more"."""
    if found := re.fullmatch(r"(\d+) to (\d+)", length):
        return t("{low} to {high}", low=found[1], high=found[2])
    if found := re.fullmatch(r"(\d+) and more", length):
        return t("{low} and more", low=found[1])
    return length

"""The class of a review with its probability, and notes on what limits it."""

from math import isfinite

import streamlit as st

from model.inference.classify import Classification
from model.inference.confidence import MAX_UNREAD_SHARE
from viz_app.content.numbers import percent
from viz_app.content.plain import plain
from viz_app.content.translation import t, tn
from viz_app.widgets.marked_text import sentence
from viz_app.widgets.second_text import PAIR_CUT

__all__ = ["note_limits", "show_class"]


def show_class(reading: Classification) -> None:
    """Show the class, and the probability of every class as a bar."""
    st.html(sentence(t("{label}: {share}", label=reading.label, share=percent(reading.probabilities[reading.label]))))
    for label, probability in reading.probabilities.items():
        st.progress(probability if isfinite(probability) else 0.0, plain(f"{label} {percent(probability)}"))


def note_limits(reading: Classification, *, max_length: int) -> None:
    """Say that the class is a guess, or that a part of the review was left out, where this is so."""
    if reading.unread > MAX_UNREAD_SHARE:
        st.caption(
            t(
                ":material/info: Much of this text is not in the vocabulary of this model, so its class is largely a "
                "guess."
            )
        )
    if reading.dropped and any(reading.parts):
        st.warning(t(PAIR_CUT, positions=max_length, dropped=reading.dropped))
    elif reading.dropped:
        st.warning(
            tn(
                "The model reads up to {limit} tokens. {n} token from the middle of the review was left out. Its "
                "beginning and its end were kept.",
                "The model reads up to {limit} tokens. {n} tokens from the middle of the review were left out. Its "
                "beginning and its end were kept.",
                n=reading.dropped,
                limit=max_length,
            )
        )

"""How much attention each word of a review gets: as shades of the text, and the top words as a table."""

from collections.abc import Mapping

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from model.analysis.statistics import rollout
from model.checkpoints.languages import tag
from model.inference.classify import Classification
from viz_app.content.translation import N_, t
from viz_app.figures.scales import bound_of
from viz_app.session.choices import settle
from viz_app.widgets.explanation import explanation
from viz_app.widgets.headings import section
from viz_app.widgets.marked_text import weighted_text

__all__ = ["draw_word_attention", "explain_attention", "show_top_words"]

FloatArray = NDArray[np.float32]
TOP_WORDS = 12
POOLING_NAMES = {"attention": N_("pooling, mean"), "mean": N_("mean of all words"), "first": N_("first token")}
POOLING = {  # how a classifier pools → explanation, formula
    "attention": (
        N_(
            "The encoder reads the review. Then one learned query attends to every word with several heads, and the "
            "class is computed from their output. A large share means that the query attends to the word. It does not "
            "mean that the word decides."
        ),
        r"z = \sum_j \alpha_j v_j",
    ),
    "mean": (
        N_(
            "The encoder reads the review. The class is computed from the mean of its vectors, so each word has the "
            "same share."
        ),
        r"z = \tfrac1S\sum_j x_j",
    ),
    "first": (
        N_(
            "The encoder reads the review. The class is computed from the vector of the first token, which has "
            "collected information from the other words in the layers."
        ),
        r"z = x_1",
    ),
}


def draw_word_attention(reading: Classification, language: str) -> FloatArray:
    """Ask which attention is shown, shade the words by it, and return their shares.

    Args:
        reading: The classification of the review, S tokens.
        language: The language of the review.

    Returns:
        The share of each word, (S,).
    """
    shares = shares_of_words(reading)
    names = {"rollout": t("rollout to the words"), "mean": t(POOLING_NAMES[reading.pooled_by])} | {
        f"pool {head}": t("pooling head {head}", head=head + 1) for head in range(len(shares) - 2)
    }
    settle("reading", "rollout", names)
    chosen = st.segmented_control(
        t("Attention"), list(names), format_func=names.__getitem__, required=True, key="reading"
    )
    weights = shares[chosen or "rollout"]
    st.caption(
        t(
            "**Attention does not show which words decide.** Each word is shaded by its share of attention. Point at a "
            "word to see the number. Pooling: how much the query that summarizes the review attends to this position. "
            "Rollout: the same attention, followed back through the layers to the words."
        )
    )
    st.html(weighted_text(reading.tokens, [float(weight) for weight in weights], tag(language), parts=reading.parts))
    return weights


def shares_of_words(reading: Classification) -> Mapping[str, FloatArray]:
    """Return the share of each word, (S,): by rollout, by the mean of the pooling heads, and by each pooling head."""
    equal = np.full((1, len(reading.tokens)), 1 / len(reading.tokens), dtype=np.float32)  # the mean of all vectors
    pooling = equal if reading.pooling is None else reading.pooling  # (H, S)
    mean = pooling.mean(axis=0)
    heads = pooling if reading.pooled_by == "attention" else ()
    return {
        "rollout": mean @ rollout(reading.encoder)[-1],
        "mean": mean,
        **{f"pool {head}": weights for head, weights in enumerate(heads)},
    }


def show_top_words(reading: Classification, weights: FloatArray) -> None:
    """Show the words with the largest shares as a table."""
    section(t("The words with the most attention"))
    top = np.argsort(weights)[::-1][:TOP_WORDS]
    words, share = [reading.token_labels[i] for i in top], t("share")
    st.dataframe(
        pd.DataFrame({t("word"): words, t("position"): top + 1, share: weights[top]}),
        hide_index=True,
        height=400,
        alt=t("Table of the words with the largest share"),
        column_config={
            share: st.column_config.ProgressColumn(format="%.4f", min_value=0.0, max_value=bound_of(weights))
        },
    )


def explain_attention(reading: Classification) -> None:
    """Explain how the model computes the class."""
    text, formula = POOLING[reading.pooled_by]
    sentences = [t(text)]
    if reading.several_labels:
        sentences.append(t("A text may have several labels. Each label has its own probability."))
        formula += r"\qquad p = \sigma(W z + b)"
    else:
        formula += r"\qquad p = \mathrm{softmax}(W z + b)"
    explanation(t("How it is computed"), " ".join(sentences), formula)

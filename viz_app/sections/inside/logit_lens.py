"""What a model would say if it stopped early: the lens on its decoder, and on its encoder."""

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from viz_app.figures.words import word_grid
from viz_app.services import analyses, loading
from viz_app.services.listing import CheckpointKey
from viz_app.services.translations import Run
from viz_app.session.choices import settle
from viz_app.widgets.charts import draw
from viz_app.widgets.explanation import explanation
from viz_app.widgets.headings import section

__all__ = ["early_words"]

MOST = 14  # words whose cells are wide enough to be read


def early_words(key: CheckpointKey, text: str, run: Run) -> None:
    """Draw the likeliest word after each layer of the decoder, and the translation after each of the encoder."""
    shares_its_matrix = getattr(loading.config_of(key).model, "tie_embeddings", "none") != "none"
    translation, lens = analyses.lens_of(key, text, *run)
    section(
        "After each layer of the decoder",
        "The word that the model would write if it stopped there: the state is "
        "projected to the vocabulary as if it were the last. A column is a place of the translation; the bottom row is "
        "what the model wrote.",
    )
    count = len(translation.written)
    first = 1
    if count > MOST:
        settle("first_place", 1, range(1, count - MOST + 2))
        first = st.slider(f"Places from, of {count}", 1, count - MOST + 1, key="first_place")
    shown = slice(first - 1, first - 1 + MOST)
    layers = len(lens.tokens) - 1
    rows = ["no layer yet", *(f"layer {i + 1}" for i in range(layers))]
    written = [token.text for token in translation.written[shown]]
    if repeated := repeats(lens.tokens[0], [token.text for token in translation.read]):
        st.caption(
            f"The first row has passed no layer, so it is no guess: in {repeated} of {count} places it only repeats "
            "the token that it read."
            + (" The embeddings and the output of this model share a matrix." if shares_its_matrix else "")
        )
    draw(
        word_grid(
            [line[shown] for line in lens.tokens],
            lens.probabilities[:, shown],
            rows=rows,
            columns=[token.text for token in translation.read[shown]],
            row_title="stopped after",
            column_title="token read last",
            notes=[
                [
                    f"“{best}” has probability {likeliest:.4f}; “{word}”, written in the end, {chance:.4f}"
                    for best, likeliest, word, chance in zip(
                        lens.tokens[row][shown],
                        lens.probabilities[row, shown],
                        written,
                        lens.written[row, shown],
                        strict=True,
                    )
                ]
                for row in range(len(lens.tokens))
            ],
            height=90 + 44 * len(rows),
        ),
        key="lens",
        wide=True,
        alt=f"Grid of the likeliest words after each of {layers} layers of the decoder, shaded by probability",
    )
    section(
        "After each layer of the encoder",
        "The whole translation, when the decoder reads the source as it was after "
        "fewer layers. These translations are greedy.",
    )
    st.dataframe(
        pd.DataFrame(
            [
                {
                    "layers of the encoder": early.layers,
                    "translation": early.text if early.finished else f"{early.text} …",
                }
                for early in analyses.early_readings_of(key, text)
            ]
        ),
        hide_index=True,
        alt="Table of the translations after each layer of the encoder",
        column_config={
            "layers of the encoder": st.column_config.NumberColumn(width="small"),
            "translation": st.column_config.TextColumn(width="large", help="… : stopped at the length limit"),
        },
    )
    explanation(
        "How it is computed",
        "The logit lens (nostalgebraist 2020) takes the state of the decoder after layer l, behind the last norm where "
        "the model has one, and multiplies it with the matrix that makes logits. The DecoderLens (Langedijk et al. "
        "2024) gives the state of the encoder after layer l to the decoder, in the place of the last.",
        r"p_l(y) = \mathrm{softmax}(W\,\mathrm{norm}(x^{(l)}_t))",
    )


def repeats(best: Sequence[str], read: Sequence[str]) -> int:
    """In how many places the likeliest word is the token that was read there."""
    return sum(one == other for one, other in zip(best, read, strict=True))

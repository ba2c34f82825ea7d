"""What the model would write or decide if it stopped early: after fewer layers of the decoder, or of the encoder."""

import math
from collections.abc import Sequence

import pandas as pd
import streamlit as st

from model.analysis.lens import Lens, logit_lens
from model.inference.run import Result, Run
from model.text.pair import texts_of
from viz_app.content.numbers import percent, sentences
from viz_app.content.translation import t, tp
from viz_app.figures.grids import word_grid
from viz_app.figures.style import Axes, FloatArray
from viz_app.services import analyses, models
from viz_app.services.analyses import analysis_of
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import settle
from viz_app.widgets.charts import draw
from viz_app.widgets.headings import explain, grade_line, section, verdict

__all__ = ["early_predictions"]

MAX_COLUMNS = 14  # a cell of a wider grid is too narrow for its word
ROUNDING = 1e-3  # of a probability


def early_predictions(key: CheckpointKey, run: Run) -> None:
    """Draw the most likely word or the labels after each layer, and the translation after each layer of an encoder."""
    found = models.result_of(key, run)
    if found.outcomes and found.outcomes[0].position is None:
        early_classes(key, run, [one.token for one in found.outcomes[0].candidates])
    else:
        early_words(key, run, found)


def early_classes(key: CheckpointKey, run: Run, labels: Sequence[str]) -> None:
    """Draw the probability of each label after each layer."""
    lens = analysis_of(logit_lens, key, run)
    section(
        t("After each layer"),
        t(
            "The probability of each label if the model stopped at this layer. The bottom row is what the model "
            "decided."
        ),
    )
    if not agrees(lens):
        return
    words = [[percent(float(share)) for share in row] for row in lens.own]
    notes = [
        [
            t("“{token}” has probability {number}", token=label, number=f"{share:.4f}")
            for label, share in zip(labels, row, strict=True)
        ]
        for row in lens.own.tolist()
    ]
    alt = t("Grid of the probability of each label after each of {n} layers", n=len(lens.own) - 1)
    draw_grid(words, lens.own, labels, t("label"), notes=notes, key="class_lens", alt=alt)
    grade_line("lens")


def agrees(lens: Lens) -> bool:
    """Whether the last layer gives the model's own probabilities, except for rounding. If not, a sentence says so."""
    if math.isnan(lens.difference) or lens.difference <= ROUNDING:  # a model with weights that are not finite
        return True
    verdict(
        False,
        t(
            "The last row differs from the model's own probabilities by up to {difference}. The model computes "
            "something that this picture would not show.",
            difference=f"{lens.difference:.2g}",
        ),
    )
    return False


def early_words(key: CheckpointKey, run: Run, translation: Result) -> None:
    """Draw the most likely word after each layer, and the translation after each layer of an encoder."""
    positions = tuple(one.position for one in translation.outcomes if one.position is not None)
    writes = bool(translation.written)
    lens = analysis_of(logit_lens, key, run, shown_positions(positions, translation.prompt_length))
    section(
        t("After each layer of the decoder") if writes else t("After each layer of the encoder"),
        t(
            "The word that the model would write if it stopped at this layer. Each column is a position of the text "
            "that it writes. The bottom row is what the model wrote."
        )
        if writes
        else t(
            "The word that the model would predict for each masked token if it stopped at this layer. The bottom row "
            "is what the model predicts."
        ),
    )
    if not agrees(lens):
        return
    explain_first_row(key, translation, lens)
    draw_word_grid(translation, lens)
    translates = models.config_of(key).task == "translation"
    if translates:
        section(
            t("After each layer of the encoder"),
            t(
                "The whole translation if the decoder reads the source after fewer encoder layers. These translations "
                "are greedy."
            ),
        )
        show_early_translations(key, texts_of(run.text)[0])
    grade_line("lens")
    explain("logit-lens", *(["decoder-lens"] if translates else []))


def shown_positions(positions: tuple[int, ...], prompt_length: int) -> tuple[int, ...]:
    """Ask where the grid begins, if it cannot show all positions. At first it begins after the prompt."""
    first = 1
    if len(positions) > MAX_COLUMNS:
        last = len(positions) - MAX_COLUMNS + 1
        settle("first_place", min(prompt_length + 1, last), range(1, last + 1))
        first = st.slider(t("First position shown, of {n}", n=len(positions)), 1, last, key="first_place")
    return positions[first - 1 : first - 1 + MAX_COLUMNS]


def explain_first_row(key: CheckpointKey, translation: Result, lens: Lens) -> None:
    """Say that the row before the first layer is no prediction, where it repeats tokens that were read."""
    read = translation.read or translation.source
    pairs = zip(lens.tokens[0], lens.positions, strict=True)
    repeated = sum(best == read[position].text for best, position in pairs)
    if not repeated:
        return
    notes = [
        t(
            "The first row comes before all layers, so it is no prediction. At {n} of {all} positions it only repeats "
            "the token that was read.",
            n=repeated,
            all=len(lens.positions),
        )
    ]
    if getattr(models.config_of(key).model, "tie_embeddings", "none") != "none":
        notes.append(t("The embeddings and the output of this model share one matrix."))
    st.caption(sentences(notes))


def draw_word_grid(translation: Result, lens: Lens) -> None:
    """Draw the most likely word at each position after each layer."""
    read = translation.read or translation.source
    predicted = [one.text for one in translation.outcomes if one.position in lens.positions]
    notes = [
        [
            t(
                "“{token}” has probability {number}. “{word}”, the word of the whole model, has {own}",
                token=best,
                number=f"{highest:.4f}",
                word=word,
                own=f"{own:.4f}",
            )
            for best, highest, word, own in zip(words, probabilities, predicted, own_probabilities, strict=True)
        ]
        for words, probabilities, own_probabilities in zip(lens.tokens, lens.probabilities, lens.own, strict=True)
    ]
    columns = [read[position].label for position in lens.positions]
    title = t("token read last") if translation.written else t("masked token")
    alt = t("Grid of the most likely words after each of {n} layers, shaded by probability", n=len(lens.own) - 1)
    draw_grid(lens.tokens, lens.probabilities, columns, title, notes=notes, key="lens", alt=alt)


def draw_grid(
    words: Sequence[Sequence[str]],
    shares: FloatArray,
    columns: Sequence[str],
    title: str,
    *,
    notes: Sequence[Sequence[str]],
    key: str,
    alt: str,
) -> None:
    """Draw a grid with a row for each layer, and one before them; for the other arguments see `word_grid`."""
    layers = [t("no layer yet"), *(t("layer {layer}", layer=i + 1) for i in range(len(shares) - 1))]
    axes = Axes(queries=layers, keys=columns, query_title=t("stopped after"), key_title=title)
    draw(word_grid(words, shares, axes, notes=notes, height=90 + 44 * len(shares)), key=key, wide=True, alt=alt)


def show_early_translations(key: CheckpointKey, text: str) -> None:
    """Show the translation after each layer of the encoder as a table."""
    layers, translation = t("layers of the encoder"), tp("text", "translation")
    st.dataframe(
        pd.DataFrame(
            [
                {
                    layers: early.layers,
                    translation: early.text if early.finished else f"{early.text} …",
                }
                for early in analyses.early_readings_of(key, text)
            ]
        ),
        hide_index=True,
        alt=t("Table of the translations after each layer of the encoder"),
        column_config={
            layers: st.column_config.NumberColumn(width="small"),
            translation: st.column_config.TextColumn(width="large", help=t("… : stopped at the length limit")),
        },
    )

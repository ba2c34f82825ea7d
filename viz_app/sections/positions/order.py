"""What the order of the words does: in the scores by distance, between positions, and in a sentence."""

import random
from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import pandas as pd
import streamlit as st

from model.analysis.positions import (
    Property,
    distances,
    dot_products,
    encoder_input,
    encoding_properties,
    rotation,
    rotation_error,
    scores_by_distance,
    weight_by_distance,
)
from model.config.foreign import ForeignConfig
from model.inference.opening import AnyConfig
from model.inference.run import UNTOUCHED, Run
from model.interventions import Intervention
from model.text.pair import texts_of
from viz_app.content.examples import demonstration_for
from viz_app.content.explanations import EXPLANATIONS
from viz_app.content.numbers import decimal, percent, sentences
from viz_app.content.translation import N_, t, tn
from viz_app.figures import vectors
from viz_app.figures.lines import by_distance
from viz_app.figures.picture import numbered_axes
from viz_app.figures.style import FloatArray, marked
from viz_app.sections.positions.encoding import Encoding
from viz_app.sections.sentiment import require_review
from viz_app.services import analyses, models
from viz_app.services.analyses import analysis_of
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import settle
from viz_app.session.page_end import end_page
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.charts import draw
from viz_app.widgets.head_picker import pick_number
from viz_app.widgets.headings import explain, introduce, section, verdict
from viz_app.widgets.marked_text import compared
from viz_app.widgets.run_form import require_text
from viz_app.widgets.text_notes import doubt_note

__all__ = ["NUMBERS", "distance_numbers", "position_relations", "positions_in_sentence", "shuffled"]

REACH = 12  # tokens on each side
NUMBERS = ("alibi", "relative")  # kinds of positions that add a number to each score
ADDED_ALT = {
    "encoder": N_("Number added to the score by the distance of query and key, a curve for each head of the encoder"),
    "decoder": N_("Number added to the score by the distance of query and key, a curve for each head of the decoder"),
}
MAX_SHIFT = 20
SHOWN = 16  # dimensions of the rotation matrix
ROUNDING = 1e-4  # the error of sums of two products of sines in single precision
NUMBER_FORMATS: Mapping[str, Callable[[float], str]] = {"consistent": percent, "extends": decimal}  # others: 3 digits
TABLES = {"sinusoidal": N_("sinusoidal"), "learned": N_("learned"), "table": N_("table")}


def distance_scores(key: CheckpointKey) -> None:
    """Draw the part of the scores that depends only on the distance, for a model with rotary positions."""
    config = models.config_of(key)
    section(
        t("The part of a score that depends only on the distance"),
        t(
            "One curve for each head. It shows the points of score that a key gets from its distance, compared with a "
            "key at the position of the query. Three points more mean 20 times the weight (e³). In a head with a flat "
            "curve, the distance counts only together with the words."
        ),
    )
    layer = layer_picker(config.model.num_encoder_layers)
    scores = analysis_of(scores_by_distance, key, layer, min(REACH, (config.model.max_length - 1) // 2))
    draw(
        by_distance(scores - scores[:, scores.shape[1] // 2, None], unit=t("points of score"), height=360),
        key="distance_scores",
        alt=t("Score by the distance of query and key, a curve for each head of layer {layer}", layer=layer + 1),
    )
    explain("distance-scores")


def distance_numbers(key: CheckpointKey) -> None:
    """Draw the numbers that a model adds to its scores: the same in every layer of the encoder or the decoder."""
    config = models.config_of(key)
    introduce(f"positions-{config.model.positional}")
    for kind in ("encoder", "decoder"):
        if not config.model.num_layers(kind):
            continue
        added = EXPLANATIONS[f"added-{kind}"]
        scores = analysis_of(scores_by_distance, key, 0, REACH, kind)
        if kind == "decoder":
            scores = np.where(np.arange(scores.shape[1]) > REACH, np.float32("nan"), scores)
        draw(
            by_distance(scores, unit=t("points of score"), height=360),
            heading=t(added.label),
            about=t(added.text),
            key=f"{kind}_distance_numbers",
            alt=t(ADDED_ALT[kind]),
        )


def distance_weights(key: CheckpointKey) -> None:
    """Ask for a text, and draw the mean attention weight at each distance in it."""
    config = models.config_of(key)
    reading = models.classification_of(key, Run(text=require_review(config)))
    section(
        t("How far each head attends in this text"),
        t(
            "The mean attention weight at each distance, over all tokens that have a token at that distance. This is "
            "the effect of the distance and of the words together."
        ),
    )
    layer = layer_picker(config.model.num_encoder_layers)
    reach = min(REACH, len(reading.tokens) - 1)
    draw(
        by_distance(weight_by_distance(reading.encoder[layer], reach), unit=t("mean weight"), height=360),
        key="distance_weights",
        alt=t(
            "Mean attention weight by the distance of query and key, a curve for each head of layer {layer}",
            layer=layer + 1,
        ),
    )


def layer_picker(layers: int) -> int:
    """Choose a layer, counted from 0, if there are several."""
    if layers == 1:
        return 0
    return pick_number(t("Layer"), layers, key="review_layer", default=layers - 1, place=st.columns([1, 4])[0])


def position_relations(key: CheckpointKey, encoding: Encoding) -> None:
    """Draw how the positions of an encoding relate to each other."""
    if encoding.kind == "rotary":
        distance_scores(key)
    pictures = {
        "dot product": (
            vectors.pairs(dot_products(encoding.table), unit=t("dot product"), height=380),
            t("Dot product of every two positions"),
            t("Large for similar positions."),
            t("Heatmap of the dot product of every two positions"),
        ),
        "distance": (
            vectors.pairs(distances(encoding.table), unit=t("distance"), height=380),
            t("Distance of every two positions"),
            t("How far apart their vectors are."),
            t("Heatmap of the distance of every two positions"),
        ),
    }
    for column, (name, (picture, heading, about, alt)) in zip(st.columns(2), pictures.items(), strict=True):
        with column:
            draw(picture, heading=heading, about=about, key=name, alt=alt)
    if encoding.has_formula:
        draw_rotation(encoding.table, base=encoding.base)
    else:
        st.info(t("A learned table has no formula, so there is no rotation from one position to another."))
    if encoding.kind != "rotary":  # rotary positions add nothing, so no value can be too large
        compare_properties(encoding)


def draw_rotation(table: FloatArray, *, base: float) -> None:
    """Draw the rotation that shifts sinusoids (positions, dimensions) of some base, and its numerical error."""
    shifts = range(min(MAX_SHIFT + 1, len(table)))
    settle("shift", 3, shifts)
    heading = st.container()
    left, right = st.columns([1.2, 1])
    with right:
        shift = st.slider(t("k, the shift in positions"), 0, shifts[-1], key="shift")
        matrix = rotation(table.shape[1], base, shift)
        st.latex(
            r"\begin{pmatrix}\sin\omega(p+k)\\ \cos\omega(p+k)\end{pmatrix}="
            r"\begin{pmatrix}\cos\omega k&\sin\omega k\\-\sin\omega k&\cos\omega k\end{pmatrix}"
            r"\begin{pmatrix}\sin\omega p\\ \cos\omega p\end{pmatrix}"
        )
        check_rotation(table, matrix, shift)
    with heading:
        section(
            t("From p to p + k by one rotation"),
            tn(
                "One matrix moves the vector of every position by {n} position. So a head can learn to attend to the "
                "token that is {n} position away. The picture shows the first {shown} dimensions of the matrix: each "
                "pair rotates by its own angle.",
                "One matrix moves the vector of every position by {n} positions. So a head can learn to attend to the "
                "token that is {n} positions away. The picture shows the first {shown} dimensions of the matrix: each "
                "pair rotates by its own angle.",
                n=shift,
                shown=SHOWN,
            ),
        )
    with left:
        draw(
            vectors.rotation(matrix[:SHOWN, :SHOWN], height=420),
            key="rotation",
            alt=tn(
                "The rotation matrix that moves an encoding by {n} position",
                "The rotation matrix that moves an encoding by {n} positions",
                n=shift,
            ),
        )


def check_rotation(table: FloatArray, matrix: FloatArray, shift: int) -> None:
    """Compare the rotated vectors with the table, and show the largest difference."""
    error = rotation_error(table, matrix, shift)
    difference = t(
        "Largest difference between a rotated vector and the real one, over {positions} positions and {dimensions} "
        "dimensions: {error}.",
        positions=len(table) - shift,
        dimensions=table.shape[1],
        error=f"{error:.2g}",
    )
    agrees = error < ROUNDING
    verdict(agrees, difference if agrees else sentences([difference, t("This is more than rounding.")]))


def compare_properties(encoding: Encoding) -> None:
    """Show which of four properties sinusoids and a learned table have."""
    max_length, d_model = encoding.own.shape
    tables: Mapping[str, FloatArray] = {"sinusoidal": analyses.sinusoids(max_length, d_model, 10_000.0)}
    learned = analyses.learned_table() if encoding.has_formula else encoding.own
    if learned is not None:
        tables = {**tables, "table" if encoding.kind == "table" else "learned": learned}
    section(t("Four properties of a good encoding"), t("Computed over all positions of the model."))
    measured = {name: encoding_properties(table, has_formula=name == "sinusoidal") for name, table in tables.items()}
    st.dataframe(
        pd.DataFrame(
            {t("property"): [t(EXPLANATIONS[f"property-{p.name}"].label) for p in measured["sinusoidal"]]}
            | {
                t(TABLES[name]): [f"{'✓' if p.holds else '✗'}  {describe(p)}" for p in properties]
                for name, properties in measured.items()
            }
        ),
        hide_index=True,
        alt=t("Table of four properties for sinusoidal and learned encodings"),
    )


def describe(measured: Property) -> str:
    """Write the number that decides a property."""
    if np.isinf(measured.figure):
        return t("any position can be computed")
    write = NUMBER_FORMATS.get(measured.name, "{:.3g}".format)
    return t(EXPLANATIONS[f"property-{measured.name}"].text, number=write(measured.figure))


def positions_in_sentence(key: CheckpointKey, own: FloatArray) -> None:
    """Draw what positions (max_length, D) do in a sentence of a translator, or in a text that a classifier reads."""
    config = models.config_of(key)
    if isinstance(config, ForeignConfig):
        end_page(t("This view needs a model trained with Headlight. Choose another checkpoint on the left."))
    if config.task != "translation":
        distance_weights(key)
        checkpoint_choice.link_to_sentiment()
        return
    if config.model.positional == "rotary":
        end_page(t("This model adds nothing to its tokens, so there is no sum to show. It rotates queries and keys."))
    text, _ = texts_of(require_text(config, opening=demonstration_for(config).order))
    doubt_note(key, Run(text=text))
    draw_encoder_input(key, text, own)
    compare_orders(key, text)


def draw_encoder_input(key: CheckpointKey, text: str, own: FloatArray) -> None:
    """Draw the embeddings, the encoding, and their sum, which the first layer reads."""
    embeddings, total = analysis_of(encoder_input, key, Run(text=text))
    tokens = [token.text for token in models.result_of(key, Run(text=text)).source]
    encoding = own[: len(tokens)]
    section(
        t("Embedding × √d_model + encoding = input"),
        t(
            "Each row is a token. The first layer reads the sum. Its numbers differ from this sum by at most "
            "{difference}.",
            difference=f"{np.abs(embeddings + encoding - total).max():.2g}",
        ),
    )
    bound = float(np.abs(total).max())
    pictures = {
        "embedding": (t("embedding × √d_model"), embeddings),
        "encoding": (t("positional encoding"), encoding),
        "input": (t("input of the first layer"), total),
    }
    for column, (name, (title, values)) in zip(st.columns(3), pictures.items(), strict=True):
        with column:
            st.caption(title)
            draw(
                vectors.rows(
                    marked(values),
                    replace(numbered_axes(values, t("source token"), t("dimension")), queries=tokens),
                    unit=t("value"),
                    bound=bound,
                    height=max(300, 17 * len(tokens) + 80),
                ),
                key=f"rows_{name}",
                alt=t("A heatmap with a row for each token: {name}", name=title),
            )


def compare_orders(key: CheckpointKey, text: str) -> None:
    """Compare the translations of two word orders, with the encoding and without it."""
    section(
        t("Without the encoding"),
        t(
            "The same words in two orders. Each order is translated with the encoding and without it (in encoder and "
            "decoder). Differences from the first translation are marked."
        ),
    )
    other = pick_other_order(models.config_of(key), text)
    blind = Intervention(positions=False)
    lines = [
        (label, models.result_of(key, Run(text=words, changes=changes)).text)
        for label, words, changes in (
            (t("first order, with the encoding: {text}", text=text), text, UNTOUCHED),
            (t("first order, without it: {text}", text=text), text, blind),
            (t("other order, with the encoding: {text}", text=other), other, UNTOUCHED),
            (t("other order, without it: {text}", text=other), other, blind),
        )
    ]
    st.html(compared(lines, languages=models.result_of(key, Run(text=text)).languages[1:]))
    if lines[1][1] == lines[3][1]:
        st.caption(
            t(
                "Without the encoding, both orders have the same translation. The encoder cannot distinguish one order "
                "from the other, so it cannot know who does what to whom."
            )
        )


def pick_other_order(config: AnyConfig, text: str) -> str:
    """Ask for another order of the words: a random one by its number, or 0 for one that was written for the text."""
    demonstration = demonstration_for(config)
    written = demonstration.reordered if text == demonstration.order else ""
    numbers = range(0 if written else 1, 1000)
    settle("shuffle", numbers[0], numbers)
    number = st.columns([1, 4])[0].number_input(
        t("Other order"),
        numbers[0],
        numbers[-1],
        key="shuffle",
        help=t("Each number is a different random order. 0: two words have changed places.")
        if written
        else t("Each number is a different random order."),
    )
    return shuffled(text, int(number)) if number else written


def shuffled(text: str, number: int) -> str:
    """Return the words of a text, or its characters if it has no spaces, in the random order with this number."""
    spaced = " " in text.strip()
    words = text.split() if spaced else list(text.strip())
    random.Random(number).shuffle(words)
    return (" " if spaced else "").join(words)

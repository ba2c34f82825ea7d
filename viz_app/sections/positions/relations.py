"""Relations between positions: products, distances, the rotation from one to another, and four properties."""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from model.analysis.positions import (
    Property,
    distances,
    dot_products,
    encoding_properties,
    rotation,
    rotation_error,
)
from viz_app.content.numbers import decimal, percent, sentences
from viz_app.content.translation import N_, t, tn
from viz_app.figures import positions
from viz_app.sections.positions.distance import distance_scores
from viz_app.sections.positions.encoding import Encoding
from viz_app.services import position_tables
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import settle
from viz_app.widgets.charts import draw
from viz_app.widgets.headings import section

__all__ = ["position_relations"]

FloatArray = NDArray[np.float32]
MAX_SHIFT = 20
SHOWN = 16  # dimensions of the rotation matrix
ROUNDING = 1e-4  # the error of sums of two products of sines in single precision
PROPERTIES = {  # name → meaning, measured number
    "unique": (
        N_("Unique: no two positions have the same vector"),
        N_("the two most similar are {number} apart"),
    ),
    "bounded": (
        N_("Bounded: no value exceeds 1, the spread of an embedding"),
        N_("the largest value is {number}"),
    ),
    "consistent": (
        N_("Consistent: a shift of k tokens is the same distance everywhere"),
        N_("distances for the same k differ by up to {number}"),
    ),
    "extends": (
        N_("Extends: texts longer than those in training also have positions"),
        N_("the table ends at position {number}"),
    ),
}
NUMBER_FORMATS: Mapping[str, Callable[[float], str]] = {"consistent": percent, "extends": decimal}  # others: 3 digits
TABLES = {"sinusoidal": N_("sinusoidal"), "learned": N_("learned"), "table": N_("table")}


def position_relations(key: CheckpointKey, encoding: Encoding) -> None:
    """Draw how the positions of an encoding relate to each other."""
    if encoding.kind == "rotary":
        distance_scores(key)
    draw_pairs(encoding.table)
    if encoding.has_formula:
        draw_rotation(encoding.table, base=encoding.base)
    else:
        st.info(t("A learned table has no formula, so there is no rotation from one position to another."))
    if encoding.kind != "rotary":  # rotary positions add nothing, so no value can be too large
        compare_properties(encoding)


def draw_pairs(table: FloatArray) -> None:
    """Draw the product and the distance of every two rows of an encoding (positions, dimensions)."""
    left, right = st.columns(2)
    with left:
        section(t("Dot product of every two positions"), t("Large for similar positions."))
        draw(
            positions.pairs(dot_products(table), unit=t("dot product"), height=380),
            key="dot product",
            alt=t("Heatmap of the dot product of every two positions"),
        )
    with right:
        section(t("Distance of every two positions"), t("How far apart their vectors are."))
        draw(
            positions.pairs(distances(table), unit=t("distance"), height=380),
            key="distance",
            alt=t("Heatmap of the distance of every two positions"),
        )


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
            positions.rotation(matrix[:SHOWN, :SHOWN], height=420),
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
    if error < ROUNDING:
        st.success(difference, icon=":material/check:")
    else:
        st.error(sentences([difference, t("This is more than rounding.")]), icon=":material/close:")


def compare_properties(encoding: Encoding) -> None:
    """Show which of four properties sinusoids and a learned table have."""
    max_length, d_model = encoding.own.shape
    tables: Mapping[str, FloatArray] = {"sinusoidal": position_tables.sinusoids(max_length, d_model, 10_000.0)}
    learned = position_tables.learned_table() if encoding.has_formula else encoding.own
    if learned is not None:
        tables = {**tables, "table" if encoding.kind == "table" else "learned": learned}
    section(t("Four properties of a good encoding"), t("Computed over all positions of the model."))
    measured = {name: encoding_properties(table, has_formula=name == "sinusoidal") for name, table in tables.items()}
    st.dataframe(
        pd.DataFrame(
            {t("property"): [t(PROPERTIES[p.name][0]) for p in measured["sinusoidal"]]}
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
    return t(PROPERTIES[measured.name][1], number=write(measured.figure))

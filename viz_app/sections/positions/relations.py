"""Relations between positions: products, distances, the rotation from one to another, and four properties."""

from collections.abc import Mapping

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
from model.inference.opening import AnyConfig
from viz_app.content.plain import percent
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
PROPERTIES = {  # name → meaning, and a function that writes the measured number
    "unique": ("Unique: no two positions have the same vector", "the two most similar are {:.3g} apart".format),
    "bounded": ("Bounded: no value exceeds 1, the spread of an embedding", "the largest value is {:.3g}".format),
    "consistent": (
        "Consistent: a step of k tokens is the same distance everywhere",
        lambda share: f"distances for the same k differ by up to {percent(share)}",
    ),
    "extends": (
        "Extends: texts longer than those in training also have positions",
        "the table ends at position {:.0f}".format,
    ),
}


def position_relations(key: CheckpointKey, config: AnyConfig, encoding: Encoding) -> None:
    """Draw how the positions of an encoding relate to each other."""
    if encoding.kind == "rotary":
        distance_scores(key, config)
    draw_pairs(encoding.table)
    if encoding.has_formula:
        draw_rotation(encoding.table, base=encoding.base)
    else:
        st.info("A learned table has no formula, so there is no rotation from one position to another.")
    if encoding.kind != "rotary":  # rotary positions add nothing, so no value can be too large
        compare_properties(encoding)


def draw_pairs(table: FloatArray) -> None:
    """Draw the product and the distance of every two rows of an encoding (positions, dimensions)."""
    pictures = (
        (
            "dot product",
            "Dot product of every two positions",
            "Large for similar positions.",
            dot_products(table),
        ),
        ("distance", "Distance of every two positions", "How far apart their vectors are.", distances(table)),
    )
    for column, (unit, title, meaning, values) in zip(st.columns(2), pictures, strict=True):
        with column:
            section(title, meaning)
            draw(
                positions.pairs(values, unit=unit, height=380),
                key=unit,
                alt=f"Heatmap of the {unit} of every two positions",
            )


def draw_rotation(table: FloatArray, *, base: float) -> None:
    """Draw the rotation that shifts sinusoids (positions, dimensions) of some base, and its numerical error."""
    shifts = range(min(MAX_SHIFT + 1, len(table)))
    settle("shift", 3, shifts)
    heading = st.container()
    left, right = st.columns([1.2, 1])
    with right:
        shift = st.slider("k, the shift in positions", 0, shifts[-1], key="shift")
        matrix = rotation(table.shape[1], base, shift)
        st.latex(
            r"\begin{pmatrix}\sin\omega(p+k)\\ \cos\omega(p+k)\end{pmatrix}="
            r"\begin{pmatrix}\cos\omega k&\sin\omega k\\-\sin\omega k&\cos\omega k\end{pmatrix}"
            r"\begin{pmatrix}\sin\omega p\\ \cos\omega p\end{pmatrix}"
        )
        check_rotation(table, matrix, shift)
    with heading:
        section(
            "From p to p + k by one rotation",
            f"One matrix moves the vector of every position by {shift} positions. So a head can learn to attend to the "
            f"token that is {shift} positions away. The picture shows the first {SHOWN} dimensions of the matrix: each "
            "pair rotates by its own angle.",
        )
    with left:
        draw(
            positions.rotation(matrix[:SHOWN, :SHOWN], height=420),
            key="rotation",
            alt=f"The rotation matrix that moves an encoding by {shift} positions",
        )


def check_rotation(table: FloatArray, matrix: FloatArray, shift: int) -> None:
    """Compare the rotated vectors with the table, and show the largest difference."""
    error = rotation_error(table, matrix, shift)
    difference = (
        f"Largest difference between a rotated vector and the real one, over {len(table) - shift} positions and "
        f"{table.shape[1]} dimensions: {error:.2g}."
    )
    if error < ROUNDING:
        st.success(difference, icon=":material/check:")
    else:
        st.error(f"{difference} This is more than rounding.", icon=":material/close:")


def compare_properties(encoding: Encoding) -> None:
    """Show which of four properties sinusoids and a learned table have."""
    max_length, d_model = encoding.own.shape
    tables: Mapping[str, FloatArray] = {"sinusoidal": position_tables.sinusoids(max_length, d_model, 10_000.0)}
    learned = position_tables.learned_table() if encoding.has_formula else encoding.own
    if learned is not None:
        tables = {**tables, "learned": learned}
    section("Four properties of a good encoding", "Computed over all positions of the model.")
    measured = {name: encoding_properties(table, has_formula=name == "sinusoidal") for name, table in tables.items()}
    st.dataframe(
        pd.DataFrame(
            {"property": [PROPERTIES[p.name][0] for p in measured["sinusoidal"]]}
            | {
                name: [f"{'✓' if p.holds else '✗'}  {describe(p)}" for p in properties]
                for name, properties in measured.items()
            }
        ),
        hide_index=True,
        alt="Table of four properties for sinusoidal and learned encodings",
    )


def describe(measured: Property) -> str:
    """Write the number that decides a property."""
    if np.isinf(measured.figure):
        return "any position can be computed"
    return PROPERTIES[measured.name][1](measured.figure)

"""How positions relate: products, distances, the rotation from one to another, and what makes an encoding good."""

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
from viz_app.content.plain import percent
from viz_app.figures import positions
from viz_app.session.choices import settle
from viz_app.widgets.charts import draw
from viz_app.widgets.headings import section

__all__ = ["position_pairs", "position_properties", "position_rotation"]

FloatArray = NDArray[np.float32]
PROPERTIES = {  # what each means, and what its figure says
    "unique": ("Unique: no two positions have the same vector", "the two most alike are {:.3g} apart".format),
    "bounded": ("Bounded: no value is beyond 1, the spread of an embedding", "the largest value is {:.3g}".format),
    "consistent": (
        "Consistent: a step of k tokens is equally far everywhere",
        lambda share: f"distances of the same k differ by up to {percent(share)}",
    ),
    "extends": (
        "Extends: longer texts than in training have positions too",
        "the table ends at position {:.0f}".format,
    ),
}
ROUNDING = 1e-4  # what single precision leaves of sums of two products of sines


def position_pairs(table: FloatArray) -> None:
    """Draw the product and the distance of every two rows of an encoding (positions, dimensions)."""
    left, right = st.columns(2)
    for place, values, unit, words in (
        (left, dot_products(table), "dot product", "Large where positions are alike"),
        (right, distances(table), "distance", "How far apart the vectors are"),
    ):
        with place:
            section(f"{unit.capitalize()} of every two positions", f"{words}.")
            draw(
                positions.pairs(values, unit=unit, height=380),
                key=unit,
                alt=f"Heatmap of the {unit} of every two positions",
            )


def position_rotation(table: FloatArray, *, base: float) -> None:
    """Draw the rotation that moves sinusoids (positions, dimensions) of some base on, and its numerical error."""
    settle("shift", 3, range(min(21, len(table))))
    place = st.container()
    left, right = st.columns([1.2, 1])
    with right:
        shift = st.slider("k, positions to move on", 0, min(20, len(table) - 1), key="shift")
        matrix = rotation(table.shape[1], base, shift)
        error = rotation_error(table, matrix, shift)
        with place:
            section(
                "From p to p + k by one rotation",
                f"One matrix moves the vector of every position {shift} positions on, so a head can learn to look "
                f"{shift} tokens away. Here are its first 16 dimensions: each pair turns by its own angle.",
            )
        st.latex(
            r"\begin{pmatrix}\sin\omega(p+k)\\ \cos\omega(p+k)\end{pmatrix}="
            r"\begin{pmatrix}\cos\omega k&\sin\omega k\\-\sin\omega k&\cos\omega k\end{pmatrix}"
            r"\begin{pmatrix}\sin\omega p\\ \cos\omega p\end{pmatrix}"
        )
        found = (
            f"Largest difference between a rotated vector and the real one, over {len(table) - shift} positions and "
            f"{table.shape[1]} dimensions: {error:.2g}."
        )
        if error < ROUNDING:
            st.success(found, icon=":material/check:")
        else:
            st.error(f"{found} This is more than rounding.", icon=":material/close:")
    with left:
        draw(
            positions.rotation(matrix[:16, :16], height=420),
            key="rotation",
            alt=f"The rotation that moves an encoding {shift} positions on",
        )


def position_properties(tables: Mapping[str, FloatArray]) -> None:
    """Tick or cross four properties of encodings: kind → (positions, dimensions)."""
    section("Four properties of a good encoding", "Computed over all positions of the model.")
    found = {name: encoding_properties(table, has_formula=name == "sinusoidal") for name, table in tables.items()}
    st.dataframe(
        pd.DataFrame(
            {"property": [PROPERTIES[p.name][0] for p in found["sinusoidal"]]}
            | {
                name: [f"{'✓' if p.holds else '✗'}  {measured(p)}" for p in properties]
                for name, properties in found.items()
            }
        ),
        hide_index=True,
        alt="Table of four properties for sinusoidal and learned encodings",
    )


def measured(found: Property) -> str:
    return "any position can be computed" if np.isinf(found.figure) else PROPERTIES[found.name][1](found.figure)

"""The positional encoding as a matrix, its columns as curves, and how alike its rows are."""

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.analysis.statistics import cosine_similarity
from viz_app.figures import positions
from viz_app.widgets.charts import draw
from viz_app.widgets.explanation import explanation
from viz_app.widgets.headings import section

__all__ = ["position_matrix"]


FORMULAS = {  # of what kind → what explains it, and the formula
    "sinusoidal": (
        "Even dimensions are sines, odd ones cosines; the wavelength grows from 2π to 2π · base "
        "along the dimensions (Vaswani et al. 2017, section 3.5).",
        r"PE_{(p,2i)}=\sin\!\left(\frac{p}{base^{2i/d_{model}}}\right)\qquad"
        r"PE_{(p,2i+1)}=\cos\!\left(\frac{p}{base^{2i/d_{model}}}\right)",
    ),
    "rotary": (
        "Each pair of numbers of a query or key at position p is turned by the angle a, p times the rate of the pair "
        "(Su et al. 2021, section 3.2.2); the matrix shows sin a and cos a. The rates are those of sinusoids, and so "
        "are the numbers; but queries and keys are multiplied with them, and nothing is added to the tokens.",
        r"\begin{pmatrix}q'_{2i}\\ q'_{2i+1}\end{pmatrix}="
        r"\begin{pmatrix}\cos a&-\sin a\\ \sin a&\cos a\end{pmatrix}"
        r"\begin{pmatrix}q_{2i}\\ q_{2i+1}\end{pmatrix}\qquad a=\frac{p}{base^{2i/d_k}}",
    ),
}


def position_matrix(table: NDArray[np.float32], *, kind: str) -> None:
    """Draw an encoding (positions, dimensions); its kind as the configuration names it."""
    row = "the sine and cosine of the angle of each pair at" if kind == "rotary" else "the vector of"
    section("The matrix", f"Each row is {row} one position; red is positive, blue negative.")
    draw(
        positions.matrix(table, height=380),
        key="matrix",
        fills=True,
        alt=f"Heatmap of the positional encoding, {table.shape[0]} positions by {table.shape[1]} dimensions",
    )
    if kind in FORMULAS:
        explanation("The formula", *FORMULAS[kind])

    curve_column, similarity_column = st.columns(2)
    with curve_column:
        section("Single dimensions", "The value of a few columns of the matrix, over the position.")
        options = list(range(table.shape[1]))
        default = [d for d in (0, 1, 16, 17, 32) if d < table.shape[1]]
        chosen = st.multiselect("Dimensions", options, default, key=f"dimensions_{table.shape[1]}", max_selections=8)
        draw(
            positions.curves(table, chosen, height=380),
            key="curves",
            alt=f"Curves of dimensions {', '.join(map(str, chosen)) or 'none'} over the position",
        )
    with similarity_column:
        section("Similarity of positions", "The cosine between the vectors of every two positions.")
        draw(
            positions.similarity(cosine_similarity(table), height=400),
            key="similarity",
            alt="Heatmap of the cosine similarity between positions",
        )
        explanation(
            "How to read it",
            "Near the diagonal, positions are alike; sinusoids depend on the distance alone, so every diagonal has one "
            "colour. A learned table need not, and positions that training rarely saw look like noise.",
            r"\cos(p,q)=\frac{PE_p\cdot PE_q}{\lVert PE_p\rVert\,\lVert PE_q\rVert}",
        )

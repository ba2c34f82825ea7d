"""The positional encoding as a matrix, some of its columns as curves, and the similarity of its rows."""

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.analysis.statistics import cosine_similarity
from viz_app.content.numbers import joined
from viz_app.content.translation import N_, t
from viz_app.figures import positions
from viz_app.widgets.charts import draw
from viz_app.widgets.explanation import explanation
from viz_app.widgets.headings import section

__all__ = ["position_matrix"]

FORMULAS = {  # kind → explanation, formula
    "sinusoidal": (
        N_(
            "Even dimensions are sines, odd dimensions are cosines. Along the dimensions, the wavelength grows from 2π "
            "to 2π · base (Vaswani et al. 2017, section 3.5)."
        ),
        r"PE_{(p,2i)}=\sin\!\left(\frac{p}{base^{2i/d_{model}}}\right)\qquad"
        r"PE_{(p,2i+1)}=\cos\!\left(\frac{p}{base^{2i/d_{model}}}\right)",
    ),
    "rotary": (
        N_(
            "Each pair of numbers of a query or key at position p is rotated by the angle a, which is p times the rate "
            "of the pair (Su et al. 2021, section 3.2.2). The matrix shows sin a and cos a. Sinusoids have the same "
            "rates and so the same numbers. But here queries and keys are multiplied by them, and nothing is added to "
            "the tokens."
        ),
        r"\begin{pmatrix}q'_{2i}\\ q'_{2i+1}\end{pmatrix}="
        r"\begin{pmatrix}\cos a&-\sin a\\ \sin a&\cos a\end{pmatrix}"
        r"\begin{pmatrix}q_{2i}\\ q_{2i+1}\end{pmatrix}\qquad a=\frac{p}{base^{2i/d_k}}",
    ),
}
ROWS = {  # kind → caption
    "rotary": N_(
        "Each row holds the sine and the cosine of every pair's angle at one position. Red is positive, blue is "
        "negative."
    ),
    "": N_("Each row is the vector of one position. Red is positive, blue is negative."),
}


def position_matrix(table: NDArray[np.float32], *, kind: str) -> None:
    """Draw an encoding (positions, dimensions) of a kind, as the configuration names it."""
    section(t("The matrix"), t(ROWS.get(kind, ROWS[""])))
    draw(
        positions.matrix(table, height=380),
        key="matrix",
        fills=True,
        alt=t(
            "Heatmap of the positional encoding, {positions} positions by {dimensions} dimensions",
            positions=table.shape[0],
            dimensions=table.shape[1],
        ),
    )
    if kind in FORMULAS:
        text, formula = FORMULAS[kind]
        explanation(t("The formula"), t(text), formula)
    curves, similarity = st.columns(2)
    with curves:
        draw_dimensions(table)
    with similarity:
        draw_similarity(table)


def draw_dimensions(table: NDArray[np.float32]) -> None:
    """Ask for some columns of the matrix, and draw them as curves."""
    section(t("Single dimensions"), t("The values of some columns of the matrix at each position."))
    options = list(range(table.shape[1]))
    default = [d for d in (0, 1, 16, 17, 32) if d < table.shape[1]]
    chosen = st.multiselect(t("Dimensions"), options, default, key=f"dimensions_{table.shape[1]}", max_selections=8)
    draw(
        positions.curves(table, chosen, height=380),
        key="curves",
        alt=t(
            "Curves over the position. Dimensions: {dimensions}.",
            dimensions=joined([str(one) for one in chosen]) or "–",
        ),
    )


def draw_similarity(table: NDArray[np.float32]) -> None:
    """Draw the cosine similarity of every two rows of the matrix."""
    section(t("Similarity of positions"), t("The cosine similarity of the vectors of every two positions."))
    draw(
        positions.similarity(cosine_similarity(table), height=400),
        key="similarity",
        alt=t("Heatmap of the cosine similarity between positions"),
    )
    explanation(
        t("How to read it"),
        t(
            "Near the diagonal, positions are similar. The similarity of sinusoids depends only on the distance, so "
            "every diagonal has one colour. A learned table can differ. Its rows look like noise at positions that "
            "were rare in training."
        ),
        r"\cos(p,q)=\frac{PE_p\cdot PE_q}{\lVert PE_p\rVert\,\lVert PE_q\rVert}",
    )

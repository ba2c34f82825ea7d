"""Positional encoding: the matrix that tells the model where a token stands."""

import streamlit as st

from model.analysis import cosine_similarity
from viz_app import controls, services
from viz_app.choices import settle
from viz_app.figures import positions

BASES = (10, 100, 1_000, 10_000, 100_000)

key, config = controls.require_checkpoint(services.listed_checkpoints())
own = services.position_table(key)
max_length, d_model = own.shape
sinusoidal = config.model.positional == "sinusoidal"

st.subheader("Positional encoding")
st.markdown(
    "Attention alone cannot tell the first word from the last. So this vector, one for each position, is added to "
    "each token's embedding before the first layer. "
    + (
        "This model uses **sinusoids**: nothing is learned, each two dimensions are a sine and a cosine of one wave."
        if sinusoidal
        else f"This model **learned** a vector for each of its {max_length} positions; it has none beyond."
    )
)

left, middle, right = st.columns(3)
settle("length", min(64, max_length), range(8, max_length + 1))
length = left.slider("Positions", min(8, max_length), max_length, key="length")
table = own[:length]
if sinusoidal:
    settle("width", d_model, range(16, 513))
    settle("base", 10_000, BASES)
    width = middle.slider("d_model, dimensions", 16, 512, step=16, key="width")
    base = right.select_slider("Base of the wavelengths", BASES, key="base")
    table = services.sinusoids(length, width, float(base))
    same = (width, base) == (d_model, 10_000)
    st.caption(
        "These are the numbers that the checkpoint uses."
        if same
        else f"A what-if: the checkpoint itself uses d_model {d_model} and base 10000."
    )
else:
    middle.metric("d_model, dimensions", d_model)
    with right:
        st.caption("A learned table has no formula and so no wavelengths to set: what you see is what training made.")

st.markdown("**The matrix.** Each row is the vector of one position; red is positive, blue negative.")
st.plotly_chart(
    positions.matrix(table, height=380),
    key="matrix",
    config={"displayModeBar": False},
    alt=f"Heatmap of the positional encoding, {table.shape[0]} positions by {table.shape[1]} dimensions",
)
if sinusoidal:
    controls.how(
        "The formula",
        "Even dimensions are sines, odd ones cosines; the wavelength grows from 2π to 2π · base "
        "along the dimensions (Vaswani et al. 2017, section 3.5).",
        r"PE_{(p,2i)}=\sin\!\left(\frac{p}{base^{2i/d_{model}}}\right)\qquad"
        r"PE_{(p,2i+1)}=\cos\!\left(\frac{p}{base^{2i/d_{model}}}\right)",
    )

curve_column, similarity_column = st.columns(2)
with curve_column:
    st.markdown("**Single dimensions.** The value of a few columns of the matrix, over the position.")
    options = list(range(table.shape[1]))
    default = [d for d in (0, 1, 16, 17, 32) if d < table.shape[1]]
    chosen = st.multiselect("Dimensions", options, default, key=f"dimensions_{table.shape[1]}", max_selections=8)
    st.plotly_chart(
        positions.curves(table, chosen, height=380),
        key="curves",
        config={"displayModeBar": False},
        alt=f"Curves of dimensions {', '.join(map(str, chosen)) or 'none'} over the position",
    )
with similarity_column:
    st.markdown("**Similarity of positions.** The cosine between the vectors of every two positions.")
    st.plotly_chart(
        positions.similarity(cosine_similarity(table), height=400),
        key="similarity",
        config={"displayModeBar": False},
        alt="Heatmap of the cosine similarity between positions",
    )
    controls.how(
        "How to read it",
        "Near the diagonal, positions are alike; sinusoids depend on the distance alone, so every diagonal has one "
        "colour. A learned table need not, and positions that training rarely saw look like noise.",
        r"\cos(p,q)=\frac{PE_p\cdot PE_q}{\lVert PE_p\rVert\,\lVert PE_q\rVert}",
    )

"""A minimal Streamlit page for comparison: one text field and two cached charts."""

import numpy as np
import plotly.graph_objects as go
import streamlit as st


@st.cache_resource
def charts() -> list[go.Figure]:
    weights = np.random.default_rng(0).random((16, 16), dtype=np.float32)
    return [go.Figure(go.Heatmap(z=z, zmin=0, zmax=1)) for z in (weights, weights.T)]


text = st.text_input("Type a sentence and press Enter")
st.markdown(text or "Nothing yet.")
for number, (column, chart) in enumerate(zip(st.columns(2), charts(), strict=True)):
    column.plotly_chart(chart, key=f"chart_{number}")

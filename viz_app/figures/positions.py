"""Positional encodings: the matrix, single dimensions as curves, and how alike positions are."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz_app.figures.style import DIVERGING, LINES, colour_bar, finish

__all__ = ["curves", "matrix", "similarity"]

FloatArray = NDArray[np.float32]


def matrix(table: FloatArray, *, height: int) -> go.Figure:
    """Draw an encoding (positions, dimensions): a row a position, a column a dimension."""
    bound = float(np.abs(table).max()) or 1.0
    hover = "position %{y}<br>dimension %{x}<br>value %{z:.4f}"
    return signed_map(table, bound=bound, unit="value", columns="dimension", hover=hover, height=height)


def curves(table: FloatArray, dimensions: Sequence[int], *, height: int) -> go.Figure:
    """Draw chosen dimensions of an encoding (positions, dimensions) over the position."""
    position = np.arange(len(table), dtype=np.float32)
    figure = go.Figure()
    for i, dimension in enumerate(dimensions):
        figure.add_trace(
            go.Scatter(
                x=position,
                y=np.ascontiguousarray(table[:, dimension]),
                name=f"dimension {dimension}",
                mode="lines",
                line={"color": LINES[i % len(LINES)], "width": 2, "dash": "solid" if i < len(LINES) else "dash"},
                hovertemplate="position %{x}<br>value %{y:.4f}",
            )
        )
    finish(figure, height=height, top=30)
    figure.update_layout(showlegend=True, legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0})
    figure.update_xaxes(title="position")
    figure.update_yaxes(title="value", showgrid=True, gridcolor="rgba(128,128,128,.25)")
    return figure


def similarity(cosine: FloatArray, *, height: int) -> go.Figure:
    """Draw the cosine between the encodings of every two positions (positions, positions)."""
    hover = "position %{y} and position %{x}<br>cosine %{z:.4f}"
    return signed_map(cosine, bound=1.0, unit="cosine", columns="position", hover=hover, height=height)


def signed_map(values: FloatArray, *, bound: float, unit: str, columns: str, hover: str, height: int) -> go.Figure:
    figure = go.Figure(
        go.Heatmap(
            z=np.ascontiguousarray(values, dtype=np.float32),
            zmin=-bound,
            zmax=bound,
            colorscale=DIVERGING,
            colorbar=colour_bar(unit),
            hovertemplate=f"{hover}<extra></extra>",
        )
    )
    figure.update_xaxes(title=columns)
    figure.update_yaxes(title="position", autorange="reversed")
    return finish(figure, height=height)

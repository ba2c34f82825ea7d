"""Positional encodings: the matrix, single dimensions as curves, and how alike positions are."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz_app.figures.style import DIVERGING, LINES, SEQUENTIAL, colour_bar, finish, unique_labels

__all__ = ["bits", "curves", "matrix", "pairs", "rotation", "similarity", "token_rows", "wavelengths"]

FloatArray = NDArray[np.float32]


def matrix(table: FloatArray, *, height: int) -> go.Figure:
    """Draw an encoding (positions, dimensions): a row a position, a column a dimension."""
    bound = float(np.abs(table).max()) or 1.0
    hover = "position %{y}<br>dimension %{x}<br>value %{z:.4f}"
    return signed_map(table, bound=bound, unit="value", columns="dimension", hover=hover, height=height)


def curves(
    table: FloatArray, dimensions: Sequence[int], *, height: int, names: Sequence[str] | None = None
) -> go.Figure:
    """Draw chosen dimensions of an encoding (positions, dimensions) over the position."""
    position = np.arange(len(table), dtype=np.float32)
    figure = go.Figure()
    for i, dimension in enumerate(dimensions):
        figure.add_trace(
            go.Scatter(
                x=position,
                y=np.ascontiguousarray(table[:, dimension]),
                name=names[i] if names else f"dimension {dimension}",
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


def wavelengths(lengths: FloatArray, *, longest_text: int, height: int) -> go.Figure:
    """Draw the wavelength of each pair of dimensions, on a logarithmic scale, and how long texts may be."""
    figure = go.Figure(
        go.Scatter(
            x=np.arange(len(lengths), dtype=np.float32) * 2,
            y=lengths,
            mode="lines",
            line={"color": LINES[0], "width": 3},
            hovertemplate="dimensions %{x} and the next<br>repeat every %{y:.4g} positions<extra></extra>",
        )
    )
    figure.add_hline(y=longest_text, line={"color": LINES[1], "dash": "dash"})
    figure.add_annotation(
        x=1, xref="paper", xanchor="right", y=np.log10(longest_text), yanchor="bottom", showarrow=False,
        text=f"the longest text of this model, {longest_text} tokens",
    )  # fmt: skip
    figure.update_xaxes(title="dimension")
    figure.update_yaxes(title="wavelength, positions", type="log", showgrid=True, gridcolor="rgba(128,128,128,.25)")
    return finish(figure, height=height)


def bits(table: NDArray[np.uint8], *, columns: str, height: int) -> go.Figure:
    """Draw a table of zeros and ones (positions, columns)."""
    figure = go.Figure(
        go.Heatmap(
            z=table,
            zmin=0,
            zmax=1,
            colorscale=[[0, "#dfe6ee"], [1, LINES[0]]],
            showscale=False,
            xgap=1,
            ygap=1,
            hovertemplate="position %{y}<br>" + columns + " %{x}: %{z}<extra></extra>",
        )
    )
    figure.update_xaxes(title=columns, dtick=1)
    figure.update_yaxes(title="position", autorange="reversed")
    return finish(figure, height=height)


def pairs(values: FloatArray, *, unit: str, height: int) -> go.Figure:
    """Draw a number for every two positions (positions, positions), none below 0 by much."""
    figure = go.Figure(
        go.Heatmap(
            z=np.ascontiguousarray(values, dtype=np.float32),
            colorscale=SEQUENTIAL,
            colorbar=colour_bar(unit),
            hovertemplate=f"position %{{y}} and position %{{x}}<br>{unit} %{{z:.4f}}<extra></extra>",
        )
    )
    figure.update_xaxes(title="position")
    figure.update_yaxes(title="position", autorange="reversed")
    return finish(figure, height=height)


def rotation(matrix_: FloatArray, *, height: int) -> go.Figure:
    """Draw a matrix (D, D) that turns pairs of dimensions."""
    figure = go.Figure(
        go.Heatmap(
            z=np.ascontiguousarray(matrix_, dtype=np.float32),
            zmin=-1,
            zmax=1,
            colorscale=DIVERGING,
            colorbar=colour_bar("entry"),
            hovertemplate="row %{y}, column %{x}<br>entry %{z:.4f}<extra></extra>",
        )
    )
    figure.update_xaxes(title="dimension at position p")
    figure.update_yaxes(title="dimension at position p + k", autorange="reversed")
    return finish(figure, height=height)


def token_rows(values: FloatArray, tokens: Sequence[str], *, bound: float, height: int) -> go.Figure:
    """Draw one vector a token, (S, D), on a scale from −bound to bound."""
    figure = go.Figure(
        go.Heatmap(
            z=np.ascontiguousarray(values, dtype=np.float32),
            y=unique_labels(tokens),
            zmin=-bound,
            zmax=bound,
            colorscale=DIVERGING,
            colorbar=colour_bar("value"),
            hovertemplate="%{y}<br>dimension %{x}<br>value %{z:.4f}<extra></extra>",
        )
    )
    figure.update_xaxes(title="dimension")
    figure.update_yaxes(type="category", title="source token", autorange="reversed", dtick=1)
    return finish(figure, height=height)


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

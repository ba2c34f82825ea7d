"""Positional encodings: the matrix, single dimensions as curves, and how alike positions are."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz_app.figures.colours import LINES, SEQUENTIAL, colour_bar, signed_scale
from viz_app.figures.style import GRID, LEGEND, TEXT, Settings, axis, figure, unique_labels

__all__ = ["bits", "by_distance", "curves", "matrix", "pairs", "rotation", "similarity", "token_rows", "wavelengths"]

FloatArray = NDArray[np.float32]
MAX_SHARP = 128  # cells a side; a telephone has hardly more pixels for a map


def matrix(table: FloatArray, *, height: int) -> go.Figure:
    """Draw an encoding (positions, dimensions): a row a position, a column a dimension."""
    bound = float(np.abs(table).max()) or 1.0
    hover = "position %{y}<br>dimension %{x}<br>value %{z:.4f}"
    return signed_map(table, bound=bound, unit="value", columns="dimension", hover=hover, height=height)


def similarity(cosine: FloatArray, *, height: int) -> go.Figure:
    """Draw the cosine between the encodings of every two positions (positions, positions)."""
    hover = "position %{y} and position %{x}<br>cosine %{z:.4f}"
    return signed_map(cosine, bound=1.0, unit="cosine", columns="position", hover=hover, height=height)


def rotation(matrix_: FloatArray, *, height: int) -> go.Figure:
    """Draw a matrix (D, D) that turns pairs of dimensions."""
    columns, rows = "dimension at position p", "dimension at position p + k"
    hover = "row %{y}, column %{x}<br>entry %{z:.4f}"
    return signed_map(matrix_, bound=1.0, unit="entry", columns=columns, rows=rows, hover=hover, height=height)


def token_rows(values: FloatArray, tokens: Sequence[str], *, bound: float, height: int) -> go.Figure:
    """Draw one vector a token, (S, D), on a scale from −bound to bound."""
    return figure(
        [
            {
                "type": "heatmap",
                **signed_scale(values, bound=bound),
                "y": unique_labels(tokens),
                "colorbar": colour_bar("value"),
                "hovertemplate": "%{y}<br>dimension %{x}<br>value %{z:.4f}<extra></extra>",
            }
        ],
        axis("dimension"),
        axis("source token", type="category", autorange="reversed", dtick=1),
        height=height,
    )


def signed_map(
    values: FloatArray, *, bound: float, unit: str, columns: str, hover: str, height: int, rows: str = "position"
) -> go.Figure:
    trace = {
        "type": "heatmap",
        **signed_scale(values, bound=bound),
        # So the browser averages them where there are fewer pixels; else Plotly draws some and leaves out others.
        "zsmooth": "fast" if max(values.shape) > MAX_SHARP else False,
        "colorbar": colour_bar(unit),
        "hovertemplate": f"{hover}<extra></extra>",
    }
    return figure([trace], axis(columns), axis(rows, autorange="reversed"), height=height)


def line(number: int) -> Settings:
    return {"color": LINES[number % len(LINES)], "width": 2, "dash": "solid" if number < len(LINES) else "dash"}


def curves(
    table: FloatArray, dimensions: Sequence[int], *, height: int, names: Sequence[str] | None = None
) -> go.Figure:
    """Draw chosen dimensions of an encoding (positions, dimensions) over the position."""
    position = np.arange(len(table), dtype=np.float32)
    traces: list[Settings] = [
        {
            "type": "scatter",
            "x": position,
            "y": np.ascontiguousarray(table[:, dimension], dtype=np.float32),
            "name": names[i] if names else f"dimension {dimension}",
            "mode": "lines",
            "line": line(i),
            "hovertemplate": "position %{x}<br>value %{y:.4f}",
        }
        for i, dimension in enumerate(dimensions)
    ]
    x, y = axis("position"), axis("value", **GRID)
    return figure(traces, x, y, height=height, margin={"t": 30}, showlegend=True, legend=LEGEND)


def by_distance(values: FloatArray, *, unit: str, height: int) -> go.Figure:
    """Draw a number of each head for each distance of query and key, (H, 2R + 1), from R before to R after."""
    reach = values.shape[1] // 2
    traces: list[Settings] = [
        {
            "type": "scatter",
            "x": np.arange(-reach, reach + 1, dtype=np.float32),
            "y": np.ascontiguousarray(row, dtype=np.float32),
            "name": f"head {head + 1}",
            "mode": "lines+markers",
            "line": line(head),
            "hovertemplate": f"key %{{x:+d}} from the query<br>{unit} %{{y:.3f}}",
        }
        for head, row in enumerate(values)
    ]
    x = axis("where the key stands, in tokens from the query: − before, + after", **GRID)
    return figure(traces, x, axis(unit, **GRID), height=height, margin={"t": 30}, showlegend=True, legend=LEGEND)


def wavelengths(lengths: FloatArray, *, longest_text: int, height: int) -> go.Figure:
    """Draw the wavelength of each pair of dimensions, on a logarithmic scale, and how long texts may be."""
    wave: Settings = {
        "type": "scatter",
        "x": np.arange(len(lengths), dtype=np.float32) * 2,
        "y": np.asarray(lengths, dtype=np.float32),
        "mode": "lines",
        "line": {"color": LINES[0], "width": 3},
        "hovertemplate": "dimensions %{x} and the next<br>repeat every %{y:.4g} positions<extra></extra>",
    }
    across: Settings = {"type": "line", "xref": "paper", "x0": 0, "x1": 1, "y0": longest_text, "y1": longest_text}
    note: Settings = {
        **{"x": 1, "xref": "paper", "xanchor": "right", "y": float(np.log10(longest_text)), "yanchor": "top"},
        **{"text": f"the longest text of this model, {longest_text} tokens", "showarrow": False, "font": TEXT},
    }
    return figure(
        [wave],
        axis("dimension"),
        # A power of ten a label: those between would stand in one another's way.
        axis("wavelength, positions", type="log", dtick=1, **GRID),
        height=height,
        shapes=[{**across, "line": {"color": LINES[1], "dash": "dash"}}],
        annotations=[note],
    )


def bits(table: NDArray[np.uint8], *, columns: str, height: int) -> go.Figure:
    """Draw a table of zeros and ones (positions, columns)."""
    trace: Settings = {
        **{"type": "heatmap", "z": np.ascontiguousarray(table, dtype=np.uint8), "zmin": 0, "zmax": 1},
        **{"colorscale": [(0, "#dfe6ee"), (1, LINES[0])], "showscale": False, "xgap": 1, "ygap": 1},
        "hovertemplate": "position %{y}<br>" + columns + " %{x}: %{z}<extra></extra>",
    }
    return figure([trace], axis(columns, dtick=1), axis("position", autorange="reversed"), height=height)


def pairs(values: FloatArray, *, unit: str, height: int) -> go.Figure:
    """Draw a number for every two positions (positions, positions), none below 0 by much."""
    trace: Settings = {
        **{"type": "heatmap", "z": np.ascontiguousarray(values, dtype=np.float32), "colorscale": SEQUENTIAL},
        "colorbar": colour_bar(unit),
        "hovertemplate": f"position %{{y}} and position %{{x}}<br>{unit} %{{z:.4f}}<extra></extra>",
    }
    return figure([trace], axis("position"), axis("position", autorange="reversed"), height=height)

"""Positional encodings: the matrix, single dimensions as curves, and how alike positions are."""

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from viz_app.figures.colours import LINES, SEQUENTIAL, colour_bar, signed_scale
from viz_app.figures.picture import Picture, line_picture, map_picture, map_table
from viz_app.figures.style import GRID, LEGEND, TEXT, Axes, Settings, axis, figure, unique_labels

__all__ = ["bits", "by_distance", "curves", "matrix", "pairs", "rotation", "similarity", "token_rows", "wavelengths"]

FloatArray = NDArray[np.float32]
OFFSET = "where the key stands, in tokens from the query: − before, + after"
MAX_SHARP = 128  # cells a side; a telephone has hardly more pixels for a map


def matrix(table: FloatArray, *, height: int) -> Picture:
    """Draw an encoding (positions, dimensions): a row a position, a column a dimension."""
    bound = float(np.abs(table).max()) or 1.0
    hover = "position %{y}<br>dimension %{x}<br>value %{z:.4f}"
    return signed_map(table, bound=bound, unit="value", columns="dimension", hover=hover, height=height)


def similarity(cosine: FloatArray, *, height: int) -> Picture:
    """Draw the cosine between the encodings of every two positions (positions, positions)."""
    hover = "position %{y} and position %{x}<br>cosine %{z:.4f}"
    return signed_map(cosine, bound=1.0, unit="cosine", columns="position", hover=hover, height=height)


def rotation(matrix_: FloatArray, *, height: int) -> Picture:
    """Draw a matrix (D, D) that turns pairs of dimensions."""
    columns, rows = "dimension at position p", "dimension at position p + k"
    hover = "row %{y}, column %{x}<br>entry %{z:.4f}"
    return signed_map(matrix_, bound=1.0, unit="entry", columns=columns, rows=rows, hover=hover, height=height)


def token_rows(values: FloatArray, tokens: Sequence[str], *, bound: float, height: int) -> Picture:
    """Draw one vector a token, (S, D), on a scale from −bound to bound."""
    drawn = figure(
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
    axes = Axes(queries=tokens, keys=counted(values.shape[1]), query_title="source token", key_title="dimension")
    return map_picture(drawn, values, axes, unit="value", signed=True)


def signed_map(
    values: FloatArray, *, bound: float, unit: str, columns: str, hover: str, height: int, rows: str = "position"
) -> Picture:
    trace = {
        "type": "heatmap",
        **signed_scale(values, bound=bound),
        # So the browser averages them where there are fewer pixels; else Plotly draws some and leaves out others.
        "zsmooth": "fast" if max(values.shape) > MAX_SHARP else False,
        "colorbar": colour_bar(unit),
        "hovertemplate": f"{hover}<extra></extra>",
    }
    drawn = figure([trace], axis(columns), axis(rows, autorange="reversed"), height=height)
    return map_picture(drawn, values, numbered(values, rows, columns), unit=unit, signed=True)


def numbered(values: NDArray[np.generic], rows: str, columns: str) -> Axes:
    """Names for a table whose rows and columns count from 0."""
    return Axes(queries=counted(values.shape[0]), keys=counted(values.shape[1]), query_title=rows, key_title=columns)


def counted(count: int) -> list[str]:
    return [str(i) for i in range(count)]


def line_style(number: int) -> Settings:
    return {"color": LINES[number % len(LINES)], "width": 2, "dash": "solid" if number < len(LINES) else "dash"}


def curves(table: FloatArray, dimensions: Sequence[int], *, height: int, names: Sequence[str] | None = None) -> Picture:
    """Draw chosen dimensions of an encoding (positions, dimensions) over the position."""
    position = np.arange(len(table), dtype=np.float32)
    series = {
        names[i] if names else f"dimension {dimension}": np.ascontiguousarray(table[:, dimension], dtype=np.float32)
        for i, dimension in enumerate(dimensions)
    }
    traces: list[Settings] = [
        {
            "type": "scatter",
            "x": position,
            "y": values,
            "name": name,
            "mode": "lines",
            "line": line_style(i),
            "hovertemplate": "position %{x}<br>value %{y:.4f}",
        }
        for i, (name, values) in enumerate(series.items())
    ]
    x, y = axis("position"), axis("value", **GRID)
    drawn = figure(traces, x, y, height=height, margin={"t": 30}, showlegend=True, legend=LEGEND)
    return line_picture(drawn, counted(len(table)), series, x_title="position", unit="value")


def by_distance(values: FloatArray, *, unit: str, height: int) -> Picture:
    """Draw a number of each head for each distance of query and key, (H, 2R + 1), from R before to R after."""
    reach = values.shape[1] // 2
    offsets = np.arange(-reach, reach + 1)
    series = {f"head {head + 1}": np.ascontiguousarray(row, dtype=np.float32) for head, row in enumerate(values)}
    traces: list[Settings] = [
        {
            "type": "scatter",
            "x": offsets.astype(np.float32),
            "y": line,
            "name": name,
            "mode": "lines+markers",
            "line": line_style(head),
            "hovertemplate": f"key %{{x:+d}} from the query<br>{unit} %{{y:.3f}}",
        }
        for head, (name, line) in enumerate(series.items())
    ]
    x = axis(OFFSET, **GRID)
    drawn = figure(traces, x, axis(unit, **GRID), height=height, margin={"t": 30}, showlegend=True, legend=LEGEND)
    return line_picture(drawn, [f"{offset:+d}" for offset in offsets], series, x_title=OFFSET, unit=unit)


def wavelengths(lengths: FloatArray, *, longest_text: int, height: int) -> Picture:
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
    unit = "wavelength, positions"
    drawn = figure(
        [wave],
        axis("dimension"),
        # A power of ten a label: those between would stand in one another's way.
        axis(unit, type="log", dtick=1, **GRID),
        height=height,
        shapes=[{**across, "line": {"color": LINES[1], "dash": "dash"}}],
        annotations=[note],
    )
    dimensions = [str(2 * pair) for pair in range(len(lengths))]
    return line_picture(drawn, dimensions, {unit: lengths}, x_title="dimension", unit=unit)


def bits(table: NDArray[np.uint8], *, columns: str, height: int) -> Picture:
    """Draw a table of zeros and ones (positions, columns)."""
    trace: Settings = {
        **{"type": "heatmap", "z": np.ascontiguousarray(table, dtype=np.uint8), "zmin": 0, "zmax": 1},
        **{"colorscale": [(0, "#dfe6ee"), (1, LINES[0])], "showscale": False, "xgap": 1, "ygap": 1},
        "hovertemplate": "position %{y}<br>" + columns + " %{x}: %{z}<extra></extra>",
    }
    return Picture(
        figure=figure([trace], axis(columns, dtick=1), axis("position", autorange="reversed"), height=height),
        table=partial(map_table, table.astype(np.float32), numbered(table, "position", columns)),
        summary=f"{table.sum()} of {table.size} cells are 1, the others 0.",
    )


def pairs(values: FloatArray, *, unit: str, height: int) -> Picture:
    """Draw a number for every two positions (positions, positions), none below 0 by much."""
    trace: Settings = {
        **{"type": "heatmap", "z": np.ascontiguousarray(values, dtype=np.float32), "colorscale": SEQUENTIAL},
        "colorbar": colour_bar(unit),
        "hovertemplate": f"position %{{y}} and position %{{x}}<br>{unit} %{{z:.4f}}<extra></extra>",
    }
    drawn = figure([trace], axis("position"), axis("position", autorange="reversed"), height=height)
    return map_picture(drawn, values, numbered(values, "position", "position"), unit=unit)

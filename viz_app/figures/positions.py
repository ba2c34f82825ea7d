"""Positional encodings: the matrix, its dimensions as curves, and the similarity of positions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from viz_app.figures.colours import LINES, SEQUENTIAL, ZERO
from viz_app.figures.labels import unique_labels
from viz_app.figures.picture import Picture, line_picture, map_picture, map_table, numbered_axes
from viz_app.figures.scales import colour_bar, signed_scale
from viz_app.figures.style import GRID, LEGEND, TEXT, Settings, axis, figure

__all__ = ["bits", "by_distance", "curves", "matrix", "pairs", "rotation", "similarity", "token_rows", "wavelengths"]

FloatArray = NDArray[np.float32]
MAX_SHARP = 128  # cells on a side; a phone has few more pixels for a map
WAVELENGTH = "wavelength, positions"
LEGEND_ROOM = {"t": 30.0}  # pixels above the axes
DISTANCE = "distance from query to key, in tokens (− before, + after)"


def matrix(table: FloatArray, *, height: int) -> Picture:
    """Draw an encoding (positions, dimensions)."""
    bound = float(np.abs(table).max()) or 1.0
    hover = "position %{y}<br>dimension %{x}<br>value %{z:.4f}"
    return signed_map(table, bound=bound, unit="value", columns="dimension", hover=hover, height=height)


def similarity(cosine: FloatArray, *, height: int) -> Picture:
    """Draw the cosine between the encodings of every two positions (positions, positions)."""
    hover = "position %{y} and position %{x}<br>cosine %{z:.4f}"
    return signed_map(cosine, bound=1.0, unit="cosine", columns="position", hover=hover, height=height)


def rotation(entries: FloatArray, *, height: int) -> Picture:
    """Draw a matrix (D, D) that rotates pairs of dimensions."""
    columns, rows = "dimension at position p", "dimension at position p + k"
    hover = "row %{y}, column %{x}<br>entry %{z:.4f}"
    return signed_map(entries, bound=1.0, unit="entry", columns=columns, rows=rows, hover=hover, height=height)


def signed_map(
    values: FloatArray, *, bound: float, unit: str, columns: str, hover: str, height: int, rows: str = "position"
) -> Picture:
    """Draw signed numbers with numbered rows and columns."""
    trace = {
        "type": "heatmap",
        **signed_scale(values, bound=bound),
        # With fewer pixels than cells the browser averages; otherwise Plotly draws only some of the cells.
        "zsmooth": "fast" if max(values.shape) > MAX_SHARP else False,
        "colorbar": colour_bar(unit),
        "hovertemplate": f"{hover}<extra></extra>",
    }
    drawn = figure([trace], axis(columns), axis(rows, autorange="reversed"), height=height)
    return map_picture(drawn, values, numbered_axes(values, rows, columns), unit=unit, signed=True)


def token_rows(values: FloatArray, tokens: Sequence[str], *, bound: float, height: int) -> Picture:
    """Draw one vector for each token, (S, D), on a scale from −bound to bound."""
    trace = {
        "type": "heatmap",
        **signed_scale(values, bound=bound),
        "y": unique_labels(tokens),
        "colorbar": colour_bar("value"),
        "hovertemplate": "%{y}<br>dimension %{x}<br>value %{z:.4f}<extra></extra>",
    }
    rows = axis("source token", type="category", autorange="reversed", dtick=1)
    axes = replace(numbered_axes(values, "source token", "dimension"), queries=tokens)
    return map_picture(figure([trace], axis("dimension"), rows, height=height), values, axes, unit="value", signed=True)


def pairs(values: FloatArray, *, unit: str, height: int) -> Picture:
    """Draw a number from 0 for every two positions (positions, positions)."""
    trace: Settings = {
        "type": "heatmap",
        "z": np.ascontiguousarray(values, dtype=np.float32),
        "colorscale": SEQUENTIAL,
        "colorbar": colour_bar(unit),
        "hovertemplate": f"position %{{y}} and position %{{x}}<br>{unit} %{{z:.4f}}<extra></extra>",
    }
    drawn = figure([trace], axis("position"), axis("position", autorange="reversed"), height=height)
    return map_picture(drawn, values, numbered_axes(values, "position", "position"), unit=unit)


def bits(table: NDArray[np.uint8], *, columns: str, height: int) -> Picture:
    """Draw a table of zeros and ones (positions, columns)."""
    trace: Settings = {
        "type": "heatmap",
        "z": np.ascontiguousarray(table, dtype=np.uint8),
        "zmin": 0,
        "zmax": 1,
        "colorscale": [(0, ZERO), (1, LINES[0])],
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        "hovertemplate": "position %{y}<br>" + columns + " %{x}: %{z}<extra></extra>",
    }
    return Picture(
        figure=figure([trace], axis(columns, dtick=1), axis("position", autorange="reversed"), height=height),
        table=partial(map_table, table.astype(np.float32), numbered_axes(table, "position", columns)),
        summary=f"{table.sum():,} of {table.size:,} cells are 1; the others are 0.",
    )


def curves(table: FloatArray, dimensions: Sequence[int], *, height: int, names: Sequence[str] | None = None) -> Picture:
    """Draw some dimensions of an encoding (positions, dimensions) over the position."""
    names = names or [f"dimension {dimension}" for dimension in dimensions]
    series = {name: table[:, dimension] for name, dimension in zip(names, dimensions, strict=True)}
    hover = "position %{x}<br>value %{y:.4f}"
    traces = lines(np.arange(len(table)), series, mode="lines", hover=hover)
    drawn = figure(
        traces,
        axis("position"),
        axis("value", **GRID),
        height=height,
        margin=LEGEND_ROOM,
        showlegend=True,
        legend=LEGEND,
    )
    return line_picture(drawn, [str(i) for i in range(len(table))], series, x_title="position", unit="value")


def by_distance(values: FloatArray, *, unit: str, height: int) -> Picture:
    """Draw one number for each head and distance, (H, 2R + 1), for keys from R tokens before the query to R after."""
    reach = values.shape[1] // 2
    distances = np.arange(-reach, reach + 1)
    series = {f"head {head + 1}": row for head, row in enumerate(values)}
    hover = f"distance %{{x:+d}}<br>{unit} %{{y:.3f}}"
    traces = lines(distances, series, mode="lines+markers", hover=hover)
    drawn = figure(
        traces,
        axis(DISTANCE, **GRID),
        axis(unit, **GRID),
        height=height,
        margin=LEGEND_ROOM,
        showlegend=True,
        legend=LEGEND,
    )
    return line_picture(drawn, [f"{distance:+d}" for distance in distances], series, x_title="distance", unit=unit)


def wavelengths(lengths: FloatArray, *, longest_text: int, height: int) -> Picture:
    """Draw the wavelength of each pair of dimensions on a logarithmic scale, with the longest text of the model.

    Args:
        lengths: (D / 2,), in positions.
        longest_text: Tokens.
        height: Pixels.
    """
    wave: Settings = {
        "type": "scatter",
        "x": np.arange(len(lengths), dtype=np.float32) * 2,
        "y": np.asarray(lengths, dtype=np.float32),
        "mode": "lines",
        "line": {"color": LINES[0], "width": 3},
        "hovertemplate": "dimensions %{x} and the next<br>repeat every %{y:.4g} positions<extra></extra>",
    }
    limit: Settings = {
        "type": "line",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "y0": longest_text,
        "y1": longest_text,
        "line": {"color": LINES[1], "dash": "dash"},
    }
    note: Settings = {
        "x": 1,
        "xref": "paper",
        "xanchor": "right",
        "y": float(np.log10(longest_text)),
        "yanchor": "top",
        "text": f"longest text of this model: {longest_text} tokens",
        "showarrow": False,
        "font": TEXT,
    }
    # Only powers of ten have a label, because the labels between them would overlap.
    y = axis(WAVELENGTH, type="log", dtick=1, **GRID)
    drawn = figure([wave], axis("dimension"), y, height=height, shapes=[limit], annotations=[note])
    dimensions = [str(2 * pair) for pair in range(len(lengths))]
    return line_picture(drawn, dimensions, {"wavelength": lengths}, x_title="dimension", unit=WAVELENGTH)


def lines(x: NDArray[np.integer], series: Mapping[str, FloatArray], *, mode: str, hover: str) -> list[Settings]:
    """One trace for each series; more series than colours are dashed."""
    return [
        {
            "type": "scatter",
            "x": x.astype(np.float32),
            "y": np.ascontiguousarray(values, dtype=np.float32),
            "name": name,
            "mode": mode,
            "line": {
                "color": LINES[number % len(LINES)],
                "width": 2,
                "dash": "solid" if number < len(LINES) else "dash",
            },
            "hovertemplate": hover,
        }
        for number, (name, values) in enumerate(series.items())
    ]

"""Positional encodings: the matrix, its dimensions as curves, and the similarity of positions."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from viz_app.content.numbers import decimal
from viz_app.content.translation import N_, t
from viz_app.figures.colours import LINES, SEQUENTIAL, ZERO
from viz_app.figures.labels import unique_labels
from viz_app.figures.picture import Picture, line_picture, map_picture, map_table, numbered_axes
from viz_app.figures.scales import bound_of, colour_bar, marked, signed_scale
from viz_app.figures.style import GRID, LEGEND, TEXT, Settings, axis, figure, hover

__all__ = ["bits", "by_distance", "curves", "matrix", "pairs", "rotation", "similarity", "token_rows", "wavelengths"]

FloatArray = NDArray[np.float32]
MAX_SHARP = 128  # cells on a side; a phone has few more pixels for a map
WAVELENGTH = N_("wavelength, positions")
LEGEND_ROOM = {"t": 30.0}  # pixels above the axes
DISTANCE = N_("distance from query to key, in tokens (− before, + after)")


def matrix(table: FloatArray, *, height: int) -> Picture:
    """Draw an encoding (positions, dimensions)."""
    bound = bound_of(table)
    lines = [position_line("%{y}"), dimension_line("%{x}"), value_line("%{z:.4f}")]
    return signed_map(table, bound=bound, unit=t("value"), columns=t("dimension"), lines=lines, height=height)


def similarity(cosine: FloatArray, *, height: int) -> Picture:
    """Draw the cosine between the encodings of every two positions (positions, positions)."""
    lines = [two_positions(), t("cosine: {number}", number="%{z:.4f}")]
    return signed_map(cosine, bound=1.0, unit=t("cosine"), columns=t("position"), lines=lines, height=height)


def rotation(entries: FloatArray, *, height: int) -> Picture:
    """Draw a matrix (D, D) that rotates pairs of dimensions."""
    columns, rows = t("dimension at position p"), t("dimension at position p + k")
    lines = [
        t("row {row}, column {column}", row="%{y}", column="%{x}"),
        t("entry: {number}", number="%{z:.4f}"),
    ]
    return signed_map(entries, bound=1.0, unit=t("entry"), columns=columns, rows=rows, lines=lines, height=height)


def position_line(position: str) -> str:
    return t("position {position}", position=position)


def dimension_line(dimension: str) -> str:
    return t("dimension {dimension}", dimension=dimension)


def value_line(number: str) -> str:
    return t("value: {number}", number=number)


def two_positions() -> str:
    return t("position {one} and position {other}", one="%{y}", other="%{x}")


def signed_map(
    values: FloatArray,
    *,
    bound: float,
    unit: str,
    columns: str,
    lines: Sequence[str],
    height: int,
    rows: str = "",
) -> Picture:
    """Draw signed numbers with numbered rows, by default positions, and columns; `lines` are beside the pointer."""
    rows, values = rows or t("position"), marked(values)
    trace = {
        "type": "heatmap",
        **signed_scale(values, bound=bound),
        # With fewer pixels than cells the browser averages; otherwise Plotly draws only some of the cells.
        "zsmooth": "fast" if max(values.shape) > MAX_SHARP else False,
        "colorbar": colour_bar(unit),
        "hovertemplate": hover(*lines),
    }
    drawn = figure([trace], axis(columns), axis(rows, autorange="reversed"), height=height)
    return map_picture(drawn, values, numbered_axes(values, rows, columns), unit=unit, signed=True)


def token_rows(values: FloatArray, tokens: Sequence[str], *, bound: float, height: int) -> Picture:
    """Draw one vector for each token, (S, D), on a scale from −bound to bound."""
    values = marked(values)
    trace = {
        "type": "heatmap",
        **signed_scale(values, bound=bound),
        "y": unique_labels(tokens),
        "colorbar": colour_bar(t("value")),
        "hovertemplate": hover("%{y}", dimension_line("%{x}"), value_line("%{z:.4f}")),
    }
    row_title, column_title, unit = t("source token"), t("dimension"), t("value")
    rows = axis(row_title, type="category", autorange="reversed", dtick=1)
    axes = replace(numbered_axes(values, row_title, column_title), queries=tokens)
    drawn = figure([trace], axis(column_title), rows, height=height)
    return map_picture(drawn, values, axes, unit=unit, signed=True)


def pairs(values: FloatArray, *, unit: str, height: int) -> Picture:
    """Draw a number from 0 for every two positions (positions, positions)."""
    trace: Settings = {
        "type": "heatmap",
        "z": np.where(np.isfinite(values), values, np.nan).astype(np.float32),
        "colorscale": SEQUENTIAL,
        "colorbar": colour_bar(unit),
        "hovertemplate": hover(two_positions(), t("{name}: {value}", name=unit, value="%{z:.4f}")),
    }
    title = t("position")
    drawn = figure([trace], axis(title), axis(title, autorange="reversed"), height=height)
    return map_picture(drawn, marked(values), numbered_axes(values, title, title), unit=unit)


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
        "hovertemplate": hover(position_line("%{y}"), t("{name}: {value}", name=f"{columns} %{{x}}", value="%{z}")),
    }
    rows = t("position")
    return Picture(
        figure=figure([trace], axis(columns, dtick=1), axis(rows, autorange="reversed"), height=height),
        table=partial(map_table, table.astype(np.float32), numbered_axes(table, rows, columns)),
        summary=t("{n} of {all} cells are 1; the others are 0.", n=decimal(int(table.sum())), all=decimal(table.size)),
    )


def curves(table: FloatArray, dimensions: Sequence[int], *, height: int, names: Sequence[str] | None = None) -> Picture:
    """Draw some dimensions of an encoding (positions, dimensions) over the position."""
    names = names or [dimension_line(str(dimension)) for dimension in dimensions]
    series = {name: table[:, dimension] for name, dimension in zip(names, dimensions, strict=True)}
    facts = hover(position_line("%{x}"), value_line("%{y:.4f}"))
    traces = lines(np.arange(len(table)), series, mode="lines", facts=facts)
    drawn = figure(
        traces,
        axis(t("position")),
        axis(t("value"), **GRID),
        height=height,
        margin=LEGEND_ROOM,
        showlegend=True,
        legend=LEGEND,
    )
    return line_picture(drawn, [str(i) for i in range(len(table))], series, x_title=t("position"), unit=t("value"))


def by_distance(values: FloatArray, *, unit: str, height: int) -> Picture:
    """Draw one number for each head and distance, (H, 2R + 1), for keys from R tokens before the query to R after."""
    reach = values.shape[1] // 2
    distances = np.arange(-reach, reach + 1)
    series = {t("head {head}", head=head + 1): row for head, row in enumerate(values)}
    facts = hover(t("distance: {n}", n="%{x:+d}"), t("{name}: {value}", name=unit, value="%{y:.3f}"))
    traces = lines(distances, series, mode="lines+markers", facts=facts)
    drawn = figure(
        traces,
        axis(t(DISTANCE), **GRID),
        axis(unit, **GRID),
        height=height,
        margin=LEGEND_ROOM,
        showlegend=True,
        legend=LEGEND,
    )
    return line_picture(drawn, [f"{distance:+d}" for distance in distances], series, x_title=t("distance"), unit=unit)


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
        "hovertemplate": hover(
            t("dimension {dimension} and the next one", dimension="%{x}"),
            t("repeat after {number} positions", number="%{y:.4g}"),
        ),
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
        "text": t("longest text of this model: {n} tokens", n=decimal(longest_text)),
        "showarrow": False,
        "font": TEXT,
    }
    # Only powers of ten have a label, because the labels between them would overlap.
    unit, title = t(WAVELENGTH), t("dimension")
    y = axis(unit, type="log", dtick=1, **GRID)
    drawn = figure([wave], axis(title), y, height=height, shapes=[limit], annotations=[note])
    dimensions = [str(2 * pair) for pair in range(len(lengths))]
    return line_picture(drawn, dimensions, {t("wavelength"): lengths}, x_title=title, unit=unit)


def lines(x: NDArray[np.integer], series: Mapping[str, FloatArray], *, mode: str, facts: str) -> list[Settings]:
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
            "hovertemplate": facts,
        }
        for number, (name, values) in enumerate(series.items())
    ]

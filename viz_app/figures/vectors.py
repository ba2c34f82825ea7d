"""Vectors as rows of coloured cells: queries, keys, values and their sums, positions, and numbers of two positions."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from viz_app.content.numbers import decimal
from viz_app.content.translation import t
from viz_app.figures.colours import ACCENT, LINES, SEQUENTIAL, ZERO
from viz_app.figures.heat_maps import heat_map, two_colours
from viz_app.figures.labels import LINE
from viz_app.figures.picture import Picture, map_picture, map_table, numbered_axes
from viz_app.figures.style import (
    TEXT,
    Axes,
    FloatArray,
    axis,
    bound_of,
    colour_bar,
    figure,
    hover,
    marked,
    signed_scale,
)

__all__ = [
    "bits",
    "concatenation",
    "matrix",
    "pairs",
    "query_and_keys",
    "rotation",
    "rows",
    "similarity",
    "sum_of_rows",
]

MAX_SHARP = 128  # cells on a side; a phone has few more pixels for a map


def rows(values: FloatArray, axes: Axes, *, unit: str, height: int, bound: float = 0.0) -> Picture:
    """Draw vectors (N, K) as rows: red above 0, blue below. A row of NaN is a gap; infinity is not a number.

    Args:
        values: The vectors.
        axes: Names of the rows, and the numbers of the columns.
        unit: What the numbers are.
        height: Pixels, at least.
        bound: Ends of the colour scale, equal in pictures that are compared; by default the largest number.
    """
    return heat_map(
        values,
        axes,
        unit=unit,
        scale=signed_scale(values, bound=bound or bound_of(values)),
        facts=["%{y}", *vector_lines(unit)],
        height=height,
        signed=True,
        # On a linear axis Plotly leaves out labels that would overlap.
        columns={"type": "linear", "tickangle": 0},
        x=list(axes.keys),
        xgap=0,
        ygap=1,
    )


def query_and_keys(query: FloatArray, keys: FloatArray, axes: Axes, *, height: int) -> Picture:
    """Draw the query (K,) above the keys (S, K), with a gap between them and one colour scale."""
    stacked = np.concatenate([marked(query)[None], np.full_like(query[None], np.nan), marked(keys)])
    named = replace(axes, queries=[t("query"), " ", *axes.queries], query_title=t("query and keys"))
    return rows(stacked, named, unit=t("value"), height=height)


def sum_of_rows(parts: FloatArray, total: FloatArray, axes: Axes, *, height: int) -> Picture:
    """Draw vectors (S, K) above their sum (K,), with a gap between them and one colour scale."""
    stacked = np.concatenate([marked(parts), np.full_like(total[None], np.nan), marked(total)[None]])
    unit = t("α · value")
    named = replace(axes, queries=[*axes.queries, " ", t("sum")], query_title=unit)
    return rows(stacked, named, unit=unit, height=height)


def concatenation(
    head_outputs: FloatArray, layer_output: FloatArray, *, heads: int, chosen: int, height: int
) -> Picture:
    """Draw the concatenated head outputs above the output of the layer.

    Args:
        head_outputs: (H · K,), one head after the other.
        layer_output: (D,).
        heads: H.
        chosen: The framed head, counted from 0.
        height: Pixels.
    """
    stacked = np.full((3, max(len(head_outputs), len(layer_output))), np.nan, dtype=np.float32)
    stacked[0, : len(head_outputs)] = marked(head_outputs)
    stacked[2, : len(layer_output)] = marked(layer_output)
    width = len(head_outputs) // heads
    labels, unit, dimension = [t("heads"), " ", t("output")], t("value"), t("dimension")
    trace = {
        "type": "heatmap",
        **signed_scale(stacked, bound=bound_of(stacked)),
        "y": labels,
        "colorbar": colour_bar(unit),
        "hoverongaps": False,
        "hovertemplate": hover("%{y}", *vector_lines(unit)),
    }
    frame = {
        "type": "rect",
        "x0": chosen * width - 0.5,
        "x1": (chosen + 1) * width - 0.5,
        "y0": -0.5,
        "y1": 0.5,
        "line": {"color": ACCENT, "width": 3},
    }
    name = {
        "text": t("head {head}", head=chosen + 1),
        "font": TEXT,
        "showarrow": False,
        "x": (chosen + 0.5) * width - 0.5,
        "y": -0.5,
        "yanchor": "bottom",
    }
    drawn = figure(
        [trace],
        axis(dimension, tickvals=[head * width for head in range(heads)]),
        axis("", type="category", autorange="reversed"),
        height=height,
        margin={"t": 2 * LINE},
        shapes=[frame],
        annotations=[name],
    )
    axes = replace(numbered_axes(stacked, t("vector"), dimension), queries=labels)
    return map_picture(drawn, stacked, axes, unit=unit, signed=True)


def vector_lines(unit: str) -> list[str]:
    """The lines beside the pointer: the dimension, and its number."""
    return [t("dimension {dimension}", dimension="%{x}"), t("{name}: {value}", name=unit, value="%{z:.5f}")]


def two_positions() -> str:
    return t("position {one} and position {other}", one="%{y}", other="%{x}")


def numbered(
    values: FloatArray, titles: tuple[str, str], *, bound: float, unit: str, facts: Sequence[str], height: int
) -> Picture:
    """Draw signed numbers (rows, columns) whose rows and columns, with these titles, are numbered from 0."""
    values = marked(values)
    return heat_map(
        values,
        numbered_axes(values, *titles),
        unit=unit,
        scale=signed_scale(values, bound=bound),
        facts=facts,
        height=height,
        signed=True,
        numbered=True,
        # With fewer pixels than cells the browser averages; otherwise Plotly draws only some of the cells.
        zsmooth="fast" if max(values.shape) > MAX_SHARP else False,
    )


def matrix(table: FloatArray, *, height: int) -> Picture:
    """Draw an encoding (positions, dimensions)."""
    facts = [
        t("position {position}", position="%{y}"),
        t("dimension {dimension}", dimension="%{x}"),
        t("value: {number}", number="%{z:.4f}"),
    ]
    titles = t("position"), t("dimension")
    return numbered(table, titles, bound=bound_of(table), unit=t("value"), facts=facts, height=height)


def similarity(cosine: FloatArray, *, height: int) -> Picture:
    """Draw the cosine between the encodings of every two positions (positions, positions)."""
    facts = [two_positions(), t("cosine: {number}", number="%{z:.4f}")]
    return numbered(cosine, (t("position"),) * 2, bound=1.0, unit=t("cosine"), facts=facts, height=height)


def rotation(entries: FloatArray, *, height: int) -> Picture:
    """Draw a matrix (D, D) that rotates pairs of dimensions."""
    facts = [
        t("row {row}, column {column}", row="%{y}", column="%{x}"),
        t("entry: {number}", number="%{z:.4f}"),
    ]
    titles = t("dimension at position p + k"), t("dimension at position p")
    return numbered(entries, titles, bound=1.0, unit=t("entry"), facts=facts, height=height)


def pairs(values: FloatArray, *, unit: str, height: int) -> Picture:
    """Draw a number from 0 for every two positions (positions, positions)."""
    return heat_map(
        marked(values),
        numbered_axes(values, *(t("position"),) * 2),
        unit=unit,
        scale={"z": np.where(np.isfinite(values), values, np.nan).astype(np.float32), "colorscale": SEQUENTIAL},
        facts=[two_positions(), t("{name}: {value}", name=unit, value="%{z:.4f}")],
        height=height,
        numbered=True,
    )


def bits(table: NDArray[np.uint8], *, columns: str, height: int) -> Picture:
    """Draw a table of zeros and ones (positions, columns)."""
    row, column = t("position {position}", position="%{y}"), f"{columns} %{{x}}"
    trace = {
        "type": "heatmap",
        **two_colours(table, ZERO, LINES[0]),
        "hovertemplate": hover(row, t("{name}: {value}", name=column, value="%{z}")),
    }
    rows = t("position")
    return Picture(
        figure=figure([trace], axis(columns, dtick=1), axis(rows, autorange="reversed"), height=height),
        table=partial(map_table, table.astype(np.float32), numbered_axes(table, rows, columns)),
        summary=t("{n} of {all} cells are 1; the others are 0.", n=decimal(int(table.sum())), all=decimal(table.size)),
    )

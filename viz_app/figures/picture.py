"""A figure with its table and a summary sentence for a reader who cannot see it; both also for the maps of all heads.

Every figure function returns one.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from viz_app.content.numbers import sentences
from viz_app.content.translation import t
from viz_app.figures.colours import NOT_A_NUMBER
from viz_app.figures.labels import visible_label
from viz_app.figures.style import LEGEND, Axes, FloatArray, flat_cells, hover, marked

__all__ = [
    "Picture",
    "line_picture",
    "map_picture",
    "map_summary",
    "map_table",
    "numbered_axes",
    "overview_summary",
    "overview_table",
]

MAX_SERIES = 3  # lines; the summary of more lines gives only their range
LEGEND_HEIGHT = 30  # pixels above a picture
MAX_NAME = 80  # characters of a row or column name


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A figure in three forms: drawn, as a table, and as one or two sentences."""

    figure: go.Figure
    table: Callable[[], pd.DataFrame]  # called when a visitor opens the table
    summary: str  # names the extremes


def map_picture(
    figure: go.Figure, values: NDArray[np.floating], axes: Axes, *, unit: str, signed: bool = False
) -> Picture:
    """Add the table and the summary to the figure of a map, and the cells that are not a number.

    For the parameters see `map_summary`.
    """
    if np.isinf(values).any():
        add_broken_cells(figure, values)
    return Picture(
        figure=figure,
        table=partial(map_table, values, axes),
        summary=map_summary(values, axes, unit=unit, signed=signed),
    )


def add_broken_cells(figure: go.Figure, values: NDArray[np.floating]) -> None:
    """Draw cells that are not a number, with a legend above, on top of the heatmap that is a figure's first trace."""
    place = {name: figure.data[0][name] for name in ("x", "y", "xgap", "ygap") if figure.data[0][name] is not None}
    cells = flat_cells(np.isinf(values), NOT_A_NUMBER)
    hovered = {"hoverongaps": False, "hovertemplate": hover("%{y}", "%{x}", t("not a number"))}
    figure.add_heatmap(**place, **cells, **hovered)
    swatch = {"symbol": "square", "size": 12, "color": NOT_A_NUMBER}
    figure.add_scatter(x=[None], y=[None], mode="markers", marker=swatch, name=t("not a number"), showlegend=True)
    above = {**LEGEND, "yref": "container", "yanchor": "top"}
    figure.update_layout(legend=above, margin_t=figure.layout.margin.t + LEGEND_HEIGHT)


def worded_cells(values: NDArray[np.floating]) -> NDArray[np.generic]:
    """Numbers for a table; those that are infinite are written as "not a number"."""
    return np.where(np.isinf(values), t("not a number"), values.astype(object)) if np.isinf(values).any() else values


def map_table(
    values: NDArray[np.floating], axes: Axes, *, cells: Sequence[Sequence[str]] | None = None
) -> pd.DataFrame:
    """Make the table of a map, without the rows and columns that are gaps of the picture.

    Args:
        values: (T, S), NaN where a cell is empty, infinite where it is not a number.
        axes: Names of the rows and columns.
        cells: (T, S), texts that replace the numbers.
    """
    queries, keys = (distinct([named(label) for label in labels]) for labels in (axes.queries, axes.keys))
    index = pd.Index(queries, name=title_word(axes.query_title))
    table = pd.DataFrame(worded_cells(values) if cells is None else cells, index=index, columns=keys)
    drawn = ~np.isnan(values)
    return table.loc[drawn.any(axis=1), drawn.any(axis=0)]


def map_summary(values: NDArray[np.floating], axes: Axes, *, unit: str, signed: bool = False) -> str:
    """Name the largest number of a map and its cell.

    Args:
        values: (T, S), NaN where a cell is empty, infinite where it is not a number.
        axes: Names of the rows and columns.
        unit: What the numbers are, such as "attention weight".
        signed: Also name the smallest number.
    """

    def cell(index: np.intp) -> str:
        row, column = divmod(int(index), values.shape[1])
        return t(
            "{number} ({rows}: {row}; {columns}: {column})",
            number=f"{values[row, column]:.3g}",
            rows=title_word(axes.query_title),
            row=named(axes.queries[row]),
            columns=title_word(axes.key_title),
            column=named(axes.keys[column]),
        )

    broken, finite = int(np.isinf(values).sum()), np.where(np.isfinite(values), values, np.nan)
    parts = [t("Cells that are not a number: {n}.", n=broken)] if broken else []
    if np.isnan(finite).all():
        return sentences([t("There are no numbers here."), *parts])
    parts.insert(0, t("Largest {unit}: {cell}.", unit=unit, cell=cell(np.nanargmax(finite))))
    if signed:
        parts.insert(1, t("Smallest {unit}: {cell}.", unit=unit, cell=cell(np.nanargmin(finite))))
    return sentences(parts)


def overview_table(maps: FloatArray) -> pd.DataFrame:
    """List how sharp each head is: the largest weight of a row, averaged over the rows of (L, H, T, S)."""
    layers, heads = (range(1, count + 1) for count in maps.shape[:2])
    columns = [t("head {head}", head=i) for i in heads]
    return pd.DataFrame(worded_cells(sharpness(maps)), index=pd.Index(layers, name=t("layer")), columns=columns)


def overview_summary(maps: FloatArray) -> str:
    """Name the sharpest and the least sharp head of (L, H, T, S)."""
    values = sharpness(maps)

    def place(index: np.intp) -> str:
        layer, head = divmod(int(index), values.shape[1])
        name = t("layer {layer} · head {head}", layer=layer + 1, head=head + 1)
        return f"{name} ({values[layer, head]:.3g})"

    finite = np.where(np.isfinite(values), values, np.nan)
    if np.isnan(finite).all():
        return t("There are no numbers here.")
    highest, lowest = place(np.nanargmax(finite)), place(np.nanargmin(finite))
    return t(
        "Mean of the largest weight of each row: highest in {highest}, lowest in {lowest}.",
        highest=highest,
        lowest=lowest,
    )


def sharpness(maps: FloatArray) -> FloatArray:
    """The largest weight of a row, averaged over the rows of (L, H, T, S): (L, H); infinite where it is no number."""
    return marked(maps.max(axis=-1).mean(axis=-1))


def line_picture(
    figure: go.Figure,
    x: Sequence[str],
    series: Mapping[str, ArrayLike],
    *,
    x_title: str,
    unit: str,
    written: Callable[[float], str] = "{:.3g}".format,
) -> Picture:
    """Add the table and the summary to a figure of lines or bars.

    Args:
        figure: The figure.
        x: Names of the points.
        series: Name → one number for each point.
        x_title: What the points are.
        unit: What the numbers are.
        written: Writes a number in the summary.
    """
    numbers = {name: np.asarray(line, dtype=np.float64) for name, line in series.items()}
    values = {name: np.where(np.isfinite(line), line, np.nan) for name, line in numbers.items()}
    return Picture(
        figure=figure,
        table=lambda: pd.DataFrame(values, index=pd.Index(distinct(x), name=x_title)),
        summary=series_summary(x, values, x_title=x_title, unit=unit, written=written),
    )


def series_summary(
    x: Sequence[str],
    series: Mapping[str, NDArray[np.float64]],
    *,
    x_title: str,
    unit: str,
    written: Callable[[float], str],
) -> str:
    """Name the maximum and the last number of each series, or the range of many series."""
    drawn = {name: line for name, line in series.items() if np.isfinite(line).any()}
    if not drawn:
        return t("There are no numbers yet.")
    if len(drawn) > MAX_SERIES:
        lowest, highest = (end([end(line) for line in drawn.values()]) for end in (np.nanmin, np.nanmax))
        return t(
            "{n} lines. The numbers ({unit}) range from {lowest} to {highest}.",
            n=len(drawn),
            unit=unit,
            lowest=written(lowest),
            highest=written(highest),
        )
    return sentences(
        [
            t(
                "{line}: maximum {highest} at {points} {point}, last value {last}.",
                line=name,
                highest=written(np.nanmax(line)),
                points=x_title,
                point=x[int(np.nanargmax(line))],
                last=t("not a number") if np.isnan(line[-1]) else written(line[-1]),
            )
            for name, line in drawn.items()
        ]
    )


def numbered_axes(values: NDArray[np.generic], rows: str, columns: str) -> Axes:
    """Axes whose rows and columns are numbered from 0.

    Args:
        values: (T, S).
        rows: Title of the rows.
        columns: Title of the columns.
    """
    queries, keys = ([str(i) for i in range(count)] for count in values.shape)
    return Axes(queries=queries, keys=keys, query_title=rows, key_title=columns)


def named(label: str) -> str:
    return visible_label(label, limit=MAX_NAME)


def distinct(names: Sequence[str]) -> list[str]:
    """Number repeated names, because the rows and columns of a table need different names."""
    return [f"{name} ({names[: i + 1].count(name)})" if name in names[:i] else name for i, name in enumerate(names)]


def title_word(title: str) -> str:
    """The first part of an axis title: "query" of "query: target token being written"."""
    return re.split("[:：]", title)[0]

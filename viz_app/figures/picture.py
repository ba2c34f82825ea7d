"""What every figure function returns: the figure, its table, and a sentence for a reader who cannot see it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import ArrayLike, NDArray

from viz_app.figures.style import Axes, visible_label

__all__ = [
    "Picture",
    "line_picture",
    "map_picture",
    "map_summary",
    "map_table",
    "overview_summary",
    "overview_table",
    "series_table",
]

MAX_SERIES = 3  # that the sentence describes one by one
MAX_NAME = 80  # letters of the name of a row or column


@dataclass(frozen=True, kw_only=True)
class Picture:
    """A figure in three forms: drawn, as a table, and as one or two sentences."""

    figure: go.Figure
    table: Callable[[], pd.DataFrame]  # called when a visitor opens the table
    summary: str  # names the extremes


def map_picture(
    figure: go.Figure, values: NDArray[np.floating], axes: Axes, *, unit: str, signed: bool = False
) -> Picture:
    """Add the table and the summary to the figure of a map; see `map_summary`."""
    return Picture(
        figure=figure,
        table=partial(map_table, values, axes),
        summary=map_summary(values, axes, unit=unit, signed=signed),
    )


def map_table(
    values: NDArray[np.floating], axes: Axes, *, cells: Sequence[Sequence[str]] | None = None
) -> pd.DataFrame:
    """Write a map as a table.

    Args:
        values: (T, S), NaN where a cell is empty. Rows and columns without any number are gaps of the picture and are
            left out.
        axes: Names of the rows and columns.
        cells: (T, S), texts that replace the numbers.
    """
    queries, keys = (distinct([named(label) for label in labels]) for labels in (axes.queries, axes.keys))
    index = pd.Index(queries, name=title_word(axes.query_title))
    table = pd.DataFrame(values if cells is None else cells, index=index, columns=keys)
    drawn = ~np.isnan(values)
    return table.loc[drawn.any(axis=1), drawn.any(axis=0)]


def map_summary(values: NDArray[np.floating], axes: Axes, *, unit: str, signed: bool = False) -> str:
    """Name the largest number of a map and its place.

    Args:
        values: (T, S), NaN where a cell is empty.
        axes: Names of the rows and columns.
        unit: What the numbers are, such as "attention weight".
        signed: Name the smallest number too.
    """

    def cell(index: np.intp) -> str:
        row, column = divmod(int(index), values.shape[1])
        query = f"{title_word(axes.query_title)} {named(axes.queries[row])}"
        return f"{values[row, column]:.3g}, {query}, {title_word(axes.key_title)} {named(axes.keys[column])}"

    if not np.isfinite(values).any():
        return "There are no numbers here."
    largest = f"Largest {unit}: {cell(np.nanargmax(values))}."
    return f"{largest} Smallest: {cell(np.nanargmin(values))}." if signed else largest


def overview_table(values: NDArray[np.floating]) -> pd.DataFrame:
    """Write one number for each head, (L, H), as a table."""
    layers, heads = (range(1, count + 1) for count in values.shape)
    return pd.DataFrame(values, index=pd.Index(layers, name="layer"), columns=[f"head {head}" for head in heads])


def overview_summary(values: NDArray[np.floating], *, unit: str) -> str:
    """Name the heads with the largest and the smallest number of (L, H)."""

    def head(index: np.intp) -> str:
        layer, number = divmod(int(index), values.shape[1])
        return f"layer {layer + 1} · head {number + 1}, {values[layer, number]:.3g}"

    return f"{unit}. Most: {head(values.argmax())}; least: {head(values.argmin())}."


def line_picture(
    figure: go.Figure, x: Sequence[str], series: Mapping[str, ArrayLike], *, x_title: str, unit: str
) -> Picture:
    """Add the table and the summary to a figure of lines or bars.

    Args:
        figure: The figure.
        x: Names of the points.
        series: Name → one number for each point.
        x_title: What the points are.
        unit: What the numbers are.
    """
    values = {name: np.asarray(line, dtype=np.float64) for name, line in series.items()}
    return Picture(
        figure=figure,
        table=partial(series_table, x, values, x_title=x_title),
        summary=series_summary(x, values, x_title=x_title, unit=unit),
    )


def series_table(x: Sequence[str], series: Mapping[str, NDArray[np.float64]], *, x_title: str) -> pd.DataFrame:
    """Write each series as a column."""
    return pd.DataFrame(dict(series), index=pd.Index(distinct(x), name=x_title))


def series_summary(x: Sequence[str], series: Mapping[str, NDArray[np.float64]], *, x_title: str, unit: str) -> str:
    """Name the maximum and the last number of each series, or of many series the range."""
    drawn = {name: line for name, line in series.items() if np.isfinite(line).any()}
    if not drawn:
        return "There are no numbers yet."
    if len(drawn) > MAX_SERIES:
        low, high = (end([end(line) for line in drawn.values()]) for end in (np.nanmin, np.nanmax))
        return f"{unit}: {len(drawn)} lines between {low:.3g} and {high:.3g}."
    parts = [
        f"{name}: most {np.nanmax(line):.3g} at {x_title} {x[int(np.nanargmax(line))]}, {line[-1]:.3g} at the end"
        for name, line in drawn.items()
    ]
    return f"{'; '.join(parts)}."


def named(label: str) -> str:
    return visible_label(label, limit=MAX_NAME)


def distinct(names: Sequence[str]) -> list[str]:
    """Number repeated names, because a table needs different ones."""
    return [f"{name} ({names[: i + 1].count(name)})" if name in names[:i] else name for i, name in enumerate(names)]


def title_word(title: str) -> str:
    """The first part of an axis title: "query" of "query: target token being written"."""
    return title.partition(":")[0]

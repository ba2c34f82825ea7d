"""The numbers of a figure as a table, and a sentence of what stands out in them: for who does not see the picture."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

__all__ = ["Numbers", "numbers_of", "numbers_of_map", "numbers_of_tiles"]

MOST = 3  # series that are told one by one
INVISIBLE = "\u200b\u2060"  # by which `unique_labels` tells equal ones apart


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """What a picture shows, without the picture."""

    says: str  # what stands out
    table: Callable[[], pd.DataFrame]  # made when it is asked for


def numbers_of(figure: go.Figure) -> Numbers:
    """Of a heatmap its cells, of lines and bars their points, of many small maps a number for each.

    A trace says in its `meta` what cannot be read off it: {"part": "cover"} lies over another one and has no numbers of
    its own; {"part": "notes"} has words in its cells, and its `customdata` tells their numbers; "columns" are the names
    of a heatmap's columns; {"tiles": (L, H), "unit": …} are the numbers of small maps.
    """
    own = [trace for trace in figure.data if (trace.meta or {}).get("part") != "cover"]
    if maps := [trace for trace in own if trace.type == "heatmap"]:
        return of_map(maps[0], figure.layout)
    if tiles := [trace.meta for trace in own if "tiles" in (trace.meta or {})]:
        return numbers_of_tiles(np.asarray(tiles[0]["tiles"]), tiles[0]["unit"])
    return of_series([trace for trace in own if trace.type in ("scatter", "bar")], figure.layout)


def of_map(trace: Any, layout: Any) -> Numbers:
    x, y = (layout[f"{side}axis{(trace[f'{side}axis'] or side)[1:]}"] for side in "xy")
    logarithmic = trace.colorbar.tickvals is not None  # then the numbers themselves are for the hover
    values = np.asarray(trace.customdata if logarithmic else trace.z, dtype=np.float64)
    columns = (trace.meta or {}).get("columns") or names(trace.x, x, values.shape[1])
    rows = names(trace.y, y, values.shape[0])
    titles = first_words(y.title.text or "row"), first_words(x.title.text or "column")

    cells: Any = values
    if (trace.meta or {}).get("part") == "notes":
        cells = [[unescape(note) for note in line] for line in trace.customdata]
    signed = trace.zmin is not None and trace.zmin < 0 and not logarithmic
    return numbers_of_map(
        values, rows, columns, titles=titles, unit=trace.colorbar.title.text, cells=cells, signed=signed
    )


def numbers_of_map(
    values: NDArray[np.floating],
    rows: Sequence[str],
    columns: Sequence[str],
    *,
    titles: tuple[str, str] = ("query", "key"),
    unit: str | None = "attention weight",
    cells: Any = None,
    signed: bool = False,
) -> Numbers:
    """Of one map.

    Args:
        values: (T, S), NaN where there is nothing.
        rows: T names.
        columns: S names.
        titles: What the rows and the columns are.
        unit: What the numbers are; None where each is 0 or 1.
        cells: What the table holds in the place of the numbers, such as words.
        signed: The sentence names the smallest number too.
    """

    def place(index: int) -> str:
        row, column = divmod(index, values.shape[1])
        return f"{titles[0]} {rows[row]}, {titles[1]} {columns[column]}"

    def table() -> pd.DataFrame:
        filled = values if cells is None else cells
        found = pd.DataFrame(filled, index=pd.Index(unlike(rows), name=titles[0]), columns=unlike(columns))
        empty = pd.DataFrame(np.isnan(values))  # gaps of the picture
        return found.drop(index=found.index[empty.all(axis=1)], columns=found.columns[empty.all()])

    if not np.isfinite(values).any():
        return Numbers(says="There are no numbers here.", table=table)
    if unit is None:
        return Numbers(says=f"{int(values.sum())} of {values.size} cells are 1, the others 0.", table=table)
    says = f"Largest {unit}: {np.nanmax(values):.3g}, {place(int(np.nanargmax(values)))}."
    if signed:
        says += f" Smallest: {np.nanmin(values):.3g}, {place(int(np.nanargmin(values)))}."
    return Numbers(says=says, table=table)


def numbers_of_tiles(values: NDArray[np.floating], unit: str) -> Numbers:
    """Of (L, H) small maps."""

    def place(index: int) -> str:
        layer, head = divmod(index, values.shape[1])
        return f"layer {layer + 1} · head {head + 1}, {values.flat[index]:.3g}"

    def table() -> pd.DataFrame:
        layers, heads = (range(1, count + 1) for count in values.shape)
        return pd.DataFrame(values, index=pd.Index(layers, name="layer"), columns=[f"head {head}" for head in heads])

    ends = place(int(values.argmax())), place(int(values.argmin()))
    return Numbers(says=f"{unit}. Most: {ends[0]}; least: {ends[1]}.", table=table)


def of_series(traces: Sequence[Any], layout: Any) -> Numbers:
    title, unit = layout.xaxis.title.text, layout.yaxis.title.text
    series = {trace.name or unit: np.asarray(trace.y, dtype=np.float64) for trace in traces}
    over = [f"{name:g}" if isinstance(name, float | np.floating) else str(name) for name in traces[0].x]

    def table() -> pd.DataFrame:
        return pd.DataFrame(series, index=pd.Index(unlike(over), name=title))

    def told(name: str, values: NDArray[np.float64]) -> str:
        top = int(np.nanargmax(values))
        return f"{name}: most {values[top]:.3g} at {title} {over[top]}, {values[-1]:.3g} at the end"

    drawn = {name: values for name, values in series.items() if np.isfinite(values).any()}
    if not drawn:
        return Numbers(says="There are no numbers yet.", table=table)
    if len(drawn) > MOST:
        low, high = (end([end(values) for values in drawn.values()]) for end in (np.nanmin, np.nanmax))
        return Numbers(says=f"{unit}: {len(drawn)} lines between {low:.3g} and {high:.3g}.", table=table)
    return Numbers(says=f"{'; '.join(told(*one) for one in drawn.items())}.", table=table)


def names(given: Any, axis: Any, count: int) -> list[str]:
    """Of the rows or columns of a heatmap, as its axis shows them."""
    if given is not None:
        return [unescape(str(name)).strip(INVISIBLE) for name in given]
    if axis.tickvals is not None and len(axis.tickvals) == count:
        return [unescape(name) for name in axis.ticktext]
    return [str(i) for i in range(count)]


def unlike(names: Sequence[str]) -> list[str]:
    """The same names, each once, as those of columns must be: repeats are numbered."""
    return [f"{name} ({names[: i + 1].count(name)})" if name in names[:i] else name for i, name in enumerate(names)]


def first_words(title: str) -> str:
    """What an axis is, without what that means: "query" of "query: target token being written"."""
    return title.partition(":")[0]

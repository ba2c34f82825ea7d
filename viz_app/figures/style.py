"""What all figures share: text, axes, scales, margins, and a fast way to build a Plotly figure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz_app.figures.colours import CLEAR, DIVERGING, FAINT, MASKED, SEQUENTIAL, THEME_TEXT
from viz_app.figures.labels import LETTERS, LINE, broken, escaped_label, text_width, unique_labels

__all__ = [
    "GRID",
    "LEGEND",
    "SLANTED",
    "TEXT",
    "TITLE",
    "Axes",
    "FloatArray",
    "Settings",
    "axis",
    "bound_of",
    "colour_bar",
    "enlarged",
    "figure",
    "flat_cells",
    "hover",
    "label_settings",
    "map_figure",
    "marked",
    "shared_axes",
    "signed_scale",
    "weight_scale",
]

FloatArray = NDArray[np.float32]
Settings = dict[str, object]  # of a trace, an axis or a layout, named as in Plotly

TEXT: Settings = {"size": LETTERS, "color": THEME_TEXT}
GRID: Settings = {"showgrid": True, "gridcolor": FAINT}
LEGEND: Settings = {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "font": TEXT}
EDGE = 8  # pixels, the smallest margin
LEAN = 0.85  # the length of a sentence, as a share of the estimated one, which has room for the widest letters
TITLE = 48  # pixels for the title of an axis
SLANTED = 0.72  # the height of a label at 45 degrees, as a share of its length
STANDOFF = 14  # pixels between labels and the title of their axis; a Chinese title uses 4 of them
COLOUR_BAR = 88  # pixels for the colour bar
MAX_SLANTED = 20  # columns; the labels of more columns are upright
MAX_GAPS = 40  # rows or columns; larger maps have no gaps between the cells
MAX_LABELS = 60  # rows; in larger maps Plotly leaves out some labels
DECADES = 4  # of a logarithmic scale
LONG_TITLE = 160  # pixels before a figure is enlarged; a longer vertical title is broken into two lines


@dataclass(frozen=True, kw_only=True)
class Axes:
    """Names for the rows and columns of a map (T, S)."""

    queries: Sequence[str]  # T
    keys: Sequence[str]  # S
    query_title: str
    key_title: str
    query_lang: str = ""  # the language of the labels, from `languages.tag`
    key_lang: str = ""
    query_notes: Sequence[str] = ()  # T or none: a text about each query for the hover


def shared_axes(first: Axes, second: Axes, *, by_position: bool) -> Axes | None:
    """Find the common axes of two maps. None if their rows or columns do not correspond.

    Args:
        first: Axes of one map.
        second: Axes of the other map.
        by_position: Pair different words at the same position, if both maps have the same number of words.
    """
    queries = shared_labels(first.queries, second.queries, by_position=by_position)
    keys = shared_labels(first.keys, second.keys, by_position=by_position)
    return None if queries is None or keys is None else replace(first, queries=queries, keys=keys, query_notes=[])


def shared_labels(first: Sequence[str], second: Sequence[str], *, by_position: bool) -> list[str] | None:
    """Join the labels of both, written "one | other" where they differ. Case does not matter."""
    same_words = [label.casefold() for label in first] == [label.casefold() for label in second]
    if not (same_words or (by_position and len(first) == len(second))):
        return None
    return [
        one if one.casefold() == other.casefold() else f"{one} | {other}"
        for one, other in zip(first, second, strict=True)
    ]


def marked(numbers: NDArray[np.floating], allowed: NDArray[np.bool_] | None = None) -> FloatArray:
    """Numbers as pictures and tables take them: NaN where a cell is empty, infinite where it is not a number.

    Args:
        numbers: Any shape.
        allowed: The shape of `numbers`, False where a cell is empty, such as masked; by default no cell is.
    """
    known = np.where(np.isfinite(numbers), numbers, np.float32("inf")).astype(np.float32)
    return known if allowed is None else np.where(allowed, known, np.float32("nan"))


def bound_of(values: NDArray[np.floating]) -> float:
    """The end of a symmetric scale: the largest finite number without its sign, or 1."""
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) or 1.0


def weight_scale(weights: FloatArray, *, largest: float = 1.0, logarithmic: bool = False) -> dict[str, Any]:
    """Colour weights on a linear or logarithmic scale. NaN and infinity leave a cell empty.

    Args:
        weights: Any shape.
        largest: The upper end, 1 for attention weights.
        logarithmic: Start at 1/10,000 of the largest; smaller weights have the darkest colour.
    """
    z, low, high = np.where(np.isfinite(weights), weights, np.float32("nan")), 0.0, largest
    if logarithmic:
        low, high = float(np.log10(largest)) - DECADES, float(np.log10(largest))
        z = np.log10(np.maximum(z, np.float32(10.0**low)))
    return {"z": np.ascontiguousarray(z, dtype=np.float32), "zmin": low, "zmax": high, "colorscale": SEQUENTIAL}


def signed_scale(values: FloatArray, *, bound: float) -> Settings:
    """Colour signed numbers: red above 0, blue below, white at 0. NaN and infinity leave a cell empty."""
    return {**weight_scale(values, largest=bound), "zmin": -bound, "colorscale": DIVERGING}


def flat_cells(cells: NDArray[np.bool_], colour: str = MASKED) -> Settings:
    """Give some cells (rows, columns) one colour and leave the others clear, for a trace on top of another."""
    z = np.where(cells, np.float32(1), np.float32("nan"))
    return {"z": z, "colorscale": [(0, colour), (1, colour)], "showscale": False}


def colour_bar(title: str) -> Settings:
    """The settings of a colour bar; Plotly chooses its ticks."""
    text = {"text": title, "side": "right", "font": TEXT}
    return {"title": text, "tickfont": TEXT, "thickness": 12, "outlinewidth": 0, "len": 1.0}


def hover(*lines: str) -> str:
    """The text beside the pointer. Plotly fills in variables such as `%{x}`."""
    return "<br>".join(lines) + "<extra></extra>"


def axis(title: str, **settings: object) -> Settings:
    """The settings of an axis."""
    named = {"title": {"text": title, "font": TEXT, "standoff": STANDOFF}, "tickfont": TEXT}
    return {**named, "showgrid": False, "zeroline": False, "automargin": True, **settings}


def figure(
    traces: Sequence[Settings],
    x: Settings,
    y: Settings,
    *,
    height: int,
    margin: Mapping[str, float] | None = None,
    **layout: object,
) -> go.Figure:
    """Build a figure with small margins and a clear background, which fits both themes.

    Plotly's check of every setting takes 20 times as long as the rest, so it is skipped here. A test checks each kind
    of figure instead.

    Args:
        traces: The traces, lowest first.
        x: The horizontal axis, see `axis`.
        y: The vertical axis.
        height: Pixels.
        margin: Pixels outside the axes by side ("l", "r", "t", "b"), where 8 are too few.
        layout: Further settings.
    """
    common = {
        "height": height,
        "margin": {**dict.fromkeys("lrtb", EDGE), **(margin or {})},
        "paper_bgcolor": CLEAR,
        "plot_bgcolor": CLEAR,
        "dragmode": False,
        "hoverlabel": {"font": {"size": LETTERS}},
        "template": {},  # the browser has it
    }
    return go.Figure(data=list(traces), layout={**common, "xaxis": x, "yaxis": y, **layout}, _validate=False)


def label_settings(axes: Axes) -> Settings:
    """The labels of a heatmap, and gaps between its cells if they are large enough."""
    gap = 1 if max(len(axes.keys), len(axes.queries)) <= MAX_GAPS else 0
    return {"x": unique_labels(axes.keys), "y": unique_labels(axes.queries), "xgap": gap, "ygap": gap}


def map_figure(traces: Sequence[Settings], axes: Axes, *, height: int, columns: Settings | None = None) -> go.Figure:
    """Build the figure of a map: named rows and columns, at least as high as its row labels and their title.

    The margins are computed here, because Plotly would draw the figure two or three times to find them.

    Args:
        traces: The traces, lowest first.
        axes: Names of the rows and columns.
        height: Pixels, at least.
        columns: Further settings of the horizontal axis.
    """
    # The figure has room for the label of every row. Plotly leaves out column labels that would overlap.
    every_row = {"dtick": 1} if len(axes.queries) <= MAX_LABELS else {}
    common = {"type": "category", "automargin": False}
    upright = len(axes.keys) > MAX_SLANTED
    below = TITLE + text_width([escaped_label(key) for key in axes.keys]) * (1.0 if upright else SLANTED)
    rows = max(LINE * min(len(axes.queries), MAX_LABELS), height - below - EDGE)
    title = broken(axes.query_title, rows / LEAN)
    lines = title.split("<br>")
    left = TITLE + LINE * (len(lines) - 1) + text_width([escaped_label(query) for query in axes.queries])
    return figure(
        traces,
        axis(axes.key_title, **{**common, "tickangle": -90 if upright else -45, **(columns or {})}),
        axis(title, autorange="reversed", **common, **every_row),
        height=ceil(max(rows, LEAN * text_width(lines)) + below + EDGE),
        margin={"l": left, "b": below, "r": COLOUR_BAR},
    )


def enlarged(figure: go.Figure, scale: float) -> go.Figure:
    """Copy a figure with its text and margins times `scale`, and with enough height for its row labels."""
    larger = scaled(figure.to_plotly_json(), scale)
    layout = larger["layout"]
    layout["font"] = {"size": LETTERS * scale}
    for name, side in layout.items():
        if name.startswith("yaxis") and (title := side.get("title", {}).get("text", "")):
            side["title"]["text"] = broken(title, LONG_TITLE)
            layout["margin"]["l"] += LINE * scale * (side["title"]["text"] != title)
    rows = max((len(trace["y"]) for trace in larger["data"] if trace["type"] == "heatmap" and "y" in trace), default=0)
    needed = LINE * scale * min(rows, MAX_LABELS) + layout["margin"]["t"] + layout["margin"]["b"]
    layout["height"] = max(layout["height"], round(needed))
    return go.Figure(larger, _validate=False)


def scaled(part: Any, scale: float, *, sizes: bool = False) -> Any:
    """Multiply font sizes and margins by `scale` in a part of Plotly's JSON.

    Args:
        part: The part; lists of plain values, such as labels and numbers, are returned unchanged.
        scale: The factor.
        sizes: Every number in this part is a size.
    """
    if isinstance(part, Mapping):
        return {
            name: value * scale
            if (sizes and isinstance(value, int | float)) or name in ("standoff", "minsize")
            else scaled(value, scale, sizes=name == "margin" or name.endswith("font"))
            for name, value in part.items()
        }
    if isinstance(part, list) and part and isinstance(part[0], dict):
        return [scaled(item, scale) for item in part]
    return part

"""What all figures share: colours that colour-blind people can tell apart, labels that are safe, and margins."""

from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape
from typing import TypedDict
from unicodedata import east_asian_width

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

__all__ = [
    "DIVERGING",
    "LINES",
    "MASKED",
    "SEQUENTIAL",
    "Axes",
    "colour_bar",
    "finish",
    "label_axes",
    "masked_cells",
    "shown",
    "unique_labels",
    "weight_scale",
]

FloatArray = NDArray[np.float32]

SEQUENTIAL = "Viridis"  # weights, 0 to 1, everywhere
DIVERGING = "RdBu_r"  # signed numbers, 0 in the middle
MASKED = "#8c8c8c"  # forbidden by a mask
ACCENT = "#e8590c"  # what is chosen
LINES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")  # Okabe and Ito 2008
MAX_LABEL = 18
DECADES = 4  # of a logarithmic scale
ZERO_WIDTH = "\u200b"


@dataclass(frozen=True, kw_only=True)
class Axes:
    """What the rows and columns of a map (T, S) are."""

    queries: Sequence[str]  # T
    keys: Sequence[str]  # S
    query_title: str
    key_title: str
    query_notes: Sequence[str] = ()  # T, or none: what the hover says of each query


def shown(token: str, *, limit: int = MAX_LABEL) -> str:
    """A token as text that Plotly shows as it is: its markup defused, its blanks visible, its length bounded."""
    visible = token.replace("\n", "↵").replace("\t", "⇥").replace("\r", "␍")
    if len(visible) > limit:
        visible = visible[: limit - 1] + "…"
    return visible.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unique_labels(tokens: Sequence[str]) -> list[str]:
    """Labels for a category axis, which would merge equal ones: repeats differ by invisible characters."""
    seen: dict[str, int] = {}
    labels = []
    for token in tokens:
        label = shown(token)
        seen[label] = seen.get(label, -1) + 1
        labels.append((label or " ") + ZERO_WIDTH * seen[label])
    return labels


def colour_bar(title: str, *, largest: float = 1.0, logarithmic: bool = False) -> dict[str, object]:
    bar: dict[str, object] = {"title": {"text": title, "side": "right"}, "thickness": 12, "outlinewidth": 0, "len": 1.0}
    if logarithmic:
        values = [largest * 10.0**-decade for decade in range(DECADES + 1)]
        bar |= {
            "tickvals": [float(np.log10(value)) for value in values],
            "ticktext": [f"{value:.2g}" for value in values],
        }
    return bar


class WeightScale(TypedDict):
    """Settings of a heatmap: its numbers, and the ends of its colour scale."""

    z: FloatArray
    zmin: float
    zmax: float


def weight_scale(weights: FloatArray, *, largest: float, logarithmic: bool) -> WeightScale:
    """How a heatmap colours weights: their `z` and the ends of the scale, linear or logarithmic.

    Args:
        weights: (rows, columns), NaN where nothing is drawn.
        largest: The upper end, 1 for weights.
        logarithmic: From 1/10,000 of the largest upwards; smaller ones have the darkest colour.
    """
    if not logarithmic:
        return {"z": np.asarray(weights, dtype=np.float32), "zmin": 0.0, "zmax": largest}
    floor = largest * 10.0**-DECADES
    return {
        "z": np.log10(np.maximum(weights, np.float32(floor))).astype(np.float32),
        "zmin": float(np.log10(floor)),
        "zmax": float(np.log10(largest)),
    }


def masked_cells(masked: NDArray[np.bool_], **place: object) -> go.Heatmap:
    """A trace that paints the masked cells grey and leaves the others to the trace below it.

    Args:
        masked: True where a mask forbids, (rows, columns).
        place: Further settings of the trace, such as its labels and its hover.
    """
    return go.Heatmap(
        z=np.where(masked, np.float32(1), np.float32("nan")),
        colorscale=[[0, MASKED], [1, MASKED]],
        showscale=False,
        hoverongaps=False,
        **place,
    )


def finish(figure: go.Figure, *, height: int, top: int = 8) -> go.Figure:
    """Common layout: no background of its own, so that it fits the light and the dark theme; tight margins."""
    figure.update_layout(
        height=height,
        margin={"l": 8, "r": 8, "t": top, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        dragmode=False,
        hoverlabel={"font": {"size": 13}},
    )
    figure.update_xaxes(showgrid=False, zeroline=False, automargin=True)
    figure.update_yaxes(showgrid=False, zeroline=False, automargin=True)
    return figure


def text_width(labels: Sequence[str]) -> float:
    """About how many pixels the longest label takes; Chinese and Korean signs are twice as wide as letters."""
    wide = ("W", "F")
    return max(
        sum(12.5 if east_asian_width(sign) in wide else 6.8 for sign in unescape(label) if sign != ZERO_WIDTH)
        for label in labels
    )


def label_axes(figure: go.Figure, axes: Axes, *, height: int) -> go.Figure:
    """As `finish`, and name the axes, and every row and column as long as their labels have room.

    The margins are computed here: Plotly would draw the figure two or three times to find them.
    """
    finish(figure, height=height)
    crowded = max(len(axes.queries), len(axes.keys)) > 60
    angle = -90 if len(axes.keys) > 20 else -45
    below = text_width([shown(key) for key in axes.keys]) * (1.0 if angle == -90 else 0.72)
    figure.update_xaxes(
        type="category", title={"text": axes.key_title, "standoff": 10}, tickangle=angle, automargin=False
    )
    figure.update_yaxes(type="category", title=axes.query_title, autorange="reversed", automargin=False)
    figure.update_layout(
        margin={"l": 42 + text_width([shown(query) for query in axes.queries]), "b": 44 + below, "r": 84}
    )
    if not crowded:
        figure.update_xaxes(dtick=1)
        figure.update_yaxes(dtick=1)
    return figure

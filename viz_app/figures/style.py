"""What all figures share: how one is put together, labels that are safe, and margins that fit them."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import unescape
from math import ceil
from typing import Any

import plotly.graph_objects as go

__all__ = [
    "GRID",
    "LEGEND",
    "LINE",
    "TEXT",
    "Axes",
    "Settings",
    "axis",
    "enlarged",
    "figure",
    "label_settings",
    "map_figure",
    "shown",
    "text_width",
    "unique_labels",
    "visible_label",
]

Settings = dict[str, object]  # of a trace, an axis or a layout, as Plotly names them

# Streamlit's chart theme puts its own text colour, light or dark, in the place of this one.
LETTERS = 14  # pixels
TEXT: Settings = {"size": LETTERS, "color": "#000037"}
GRID: Settings = {"showgrid": True, "gridcolor": "rgba(128,128,128,.25)"}
LEGEND: Settings = {"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0, "font": TEXT}
LETTER, WIDE_LETTER, LINE = 7.9, 14.5, 15  # pixels that a letter takes at that size, and a line of text
EDGE = 8  # pixels beyond an axis
MAX_LABEL = 18
LONG_TITLE = 20  # of an upright axis; beyond, an enlarged one takes two lines
MAX_WITH_GAPS = 40  # rows or columns
MAX_LABELS = 60  # rows or columns; beyond, only some have a label


@dataclass(frozen=True, kw_only=True)
class Axes:
    """What the rows and columns of a map (T, S) are."""

    queries: Sequence[str]  # T
    keys: Sequence[str]  # S
    query_title: str
    key_title: str
    query_lang: str = ""  # of the labels, as `languages.tag` says it
    key_lang: str = ""
    query_notes: Sequence[str] = ()  # T, or none: what the hover says of each query


def visible_label(token: str, *, limit: int = MAX_LABEL) -> str:
    """A token with line breaks and tabs as signs, cut at `limit` characters."""
    visible = token.replace("\n", "↵").replace("\t", "⇥").replace("\r", "␍")
    return f"{visible[: limit - 1]}…" if len(visible) > limit else visible


def shown(token: str, *, limit: int = MAX_LABEL) -> str:
    """As `visible_label`, with its markup escaped for Plotly."""
    return visible_label(token, limit=limit).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unique_labels(tokens: Sequence[str]) -> list[str]:
    """Labels for a category axis, which would merge equal ones: repeats differ by invisible characters."""
    met: dict[str, int] = {}
    labels: dict[str, None] = {}  # ordered
    for token in tokens:
        label = shown(token) or " "
        number = met.get(label, 0)
        # A token may have brought invisible characters of its own.
        while (unique := label + invisible(number)) in labels:
            number += 1
        met[label] = number + 1
        labels[unique] = None
    return list(labels)


def invisible(number: int) -> str:
    """A number above 0 in binary, written with two characters that have no width."""
    return f"{number:b}".translate({ord("0"): "\u200b", ord("1"): "\u2060"}) if number else ""


def axis(title: str, **settings: object) -> Settings:
    named = {"title": {"text": title, "font": TEXT, "standoff": 10}, "tickfont": TEXT}
    return {**named, "showgrid": False, "zeroline": False, "automargin": True, **settings}


def figure(
    traces: Sequence[Settings],
    x: Settings,
    y: Settings,
    *,
    height: int,
    margin: Mapping[str, float] | None = None,
    frames: Sequence[Settings] = (),
    **layout: object,
) -> go.Figure:
    """Put a figure together: no background of its own, so that it fits the light and the dark theme; tight margins.

    Plotly checks every setting that it is given, which takes twenty times as long as all else; here it does not, and
    a test checks each kind of figure instead.

    Args:
        traces: What is drawn, lowest first.
        x: Of `axis`.
        y: Of `axis`.
        height: Pixels.
        margin: Pixels beyond the axes, by side ("l", "r", "t", "b"), where 8 are not enough.
        frames: What the traces become, of a figure that is played.
        layout: Further settings.
    """
    common = {
        "height": height,
        "margin": {**dict.fromkeys("lrtb", EDGE), **(margin or {})},
        "paper_bgcolor": "rgba(0,0,0,0)",
        "plot_bgcolor": "rgba(0,0,0,0)",
        "dragmode": False,
        "hoverlabel": {"font": {"size": 14}},
        "template": {},  # the browser has it
    }
    return go.Figure(
        data=list(traces),
        layout={**common, "xaxis": x, "yaxis": y, **layout},
        frames=list(frames) or None,
        _validate=False,
    )


def enlarged(drawn: go.Figure, scale: float) -> go.Figure:
    """The same figure with its text, and the room for it, so many times as large; higher where its rows need that."""
    larger = scaled(drawn.to_plotly_json(), scale)
    layout = larger["layout"]
    layout["font"] = {"size": LETTERS * scale}
    names = max((len(trace["y"]) for trace in larger["data"] if trace["type"] == "heatmap" and "y" in trace), default=0)
    margin = layout["margin"]["t"] + layout["margin"]["b"]
    for name, side in layout.items():
        if name.startswith("yaxis") and len(title := side.get("title", {}).get("text", "")) > LONG_TITLE:
            middle = title.find(" ", len(title) // 2)
            side["title"]["text"] = f"{title[:middle]}<br>{title[middle + 1 :]}"
            layout["margin"]["l"] += LINE * scale
    layout["height"] = max(layout["height"], round(LINE * scale * min(names, MAX_LABELS) + margin))
    return go.Figure(larger, _validate=False)


def scaled(part: Any, scale: float, *, sizes: bool = False) -> Any:
    """Of what Plotly draws, with every size of a font, and every margin, times the scale."""
    if isinstance(part, Mapping):
        return {
            name: value * scale
            if (sizes and isinstance(value, int | float)) or name in ("standoff", "minsize")
            else scaled(value, scale, sizes=name == "margin" or name.endswith("font"))
            for name, value in part.items()
        }
    return (
        [scaled(one, scale) for one in part] if isinstance(part, list) and part and isinstance(part[0], dict) else part
    )


def text_width(labels: Sequence[str]) -> float:
    """About how many pixels the longest label takes; Chinese and Korean signs are twice as wide as letters."""
    return max((sum(map(sign_width, unescape(label))) for label in labels), default=0.0)


def sign_width(sign: str) -> float:
    if unicodedata.category(sign) in ("Cf", "Mn"):
        return 0.0
    return WIDE_LETTER if unicodedata.east_asian_width(sign) in ("W", "F") else LETTER


def label_settings(axes: Axes) -> Settings:
    """The rows and columns of a heatmap, named, with gaps between its cells where these are wide enough for some."""
    gap = 1 if max(len(axes.keys), len(axes.queries)) <= MAX_WITH_GAPS else 0
    return {"x": unique_labels(axes.keys), "y": unique_labels(axes.queries), "xgap": gap, "ygap": gap}


def map_figure(
    traces: Sequence[Settings],
    axes: Axes,
    *,
    height: int,
    columns: Settings | None = None,
    **layout: Any,
) -> go.Figure:
    """As `figure`, with rows and columns named as far as their labels have room; as high as the rows need.

    The margins are computed here: Plotly would draw the figure two or three times to find them.
    """
    # The figure is as high as every row's label needs; of the columns Plotly leaves out labels that have no room.
    every = {"dtick": 1} if len(axes.queries) <= MAX_LABELS else {}
    common = {"type": "category", "automargin": False}
    upright = len(axes.keys) > 20
    below = text_width([shown(key) for key in axes.keys]) * (1.0 if upright else 0.72)
    return figure(
        traces,
        axis(axes.key_title, **{**common, "tickangle": -90 if upright else -45, **(columns or {})}),
        axis(axes.query_title, autorange="reversed", **common, **every),
        # Each row has the height of its label, whatever the labels below take.
        height=max(height, ceil(LINE * min(len(axes.queries), MAX_LABELS) + 48 + below + EDGE)),
        margin={"l": 46 + text_width([shown(query) for query in axes.queries]), "b": 48 + below, "r": 88},
        **layout,
    )

"""What all figures share: text, axes, margins, and a fast way to build a Plotly figure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

import plotly.graph_objects as go

from viz_app.content.translation import t
from viz_app.figures.colours import CLEAR, FAINT, THEME_TEXT
from viz_app.figures.labels import LETTERS, LINE, broken, escaped_label, text_width, unique_labels

__all__ = [
    "GRID",
    "LEGEND",
    "MAX_LABELS",
    "TEXT",
    "Axes",
    "Settings",
    "axis",
    "cell_lines",
    "figure",
    "hover",
    "label_settings",
    "map_figure",
]

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


def hover(*lines: str) -> str:
    """The text beside the pointer. Plotly fills in variables such as `%{x}`."""
    return "<br>".join(lines) + "<extra></extra>"


def cell_lines(query: str = "%{y}") -> list[str]:
    """The lines of `hover` that name the query and the key of a cell."""
    return [t("query: {token}", token=query), t("key: {token}", token="%{x}")]


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


def map_figure(
    traces: Sequence[Settings],
    axes: Axes,
    *,
    height: int,
    columns: Settings | None = None,
    **layout: object,
) -> go.Figure:
    """Build the figure of a map: named rows and columns, at least as high as its row labels and their title.

    The margins are computed here, because Plotly would draw the figure two or three times to find them.

    Args:
        traces: The traces, lowest first.
        axes: Names of the rows and columns.
        height: Pixels, at least.
        columns: Further settings of the horizontal axis.
        layout: Further settings of the figure.
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
        **layout,
    )

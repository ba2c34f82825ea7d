"""Cells with numbers or words in them: one number for each head, and one word for each layer and position."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from viz_app.content.translation import t
from viz_app.figures.colours import legible
from viz_app.figures.heat_maps import heat_map
from viz_app.figures.labels import LETTERS, LINE, escaped_label
from viz_app.figures.picture import Picture, map_picture, map_table
from viz_app.figures.style import (
    TEXT,
    Axes,
    FloatArray,
    Settings,
    axis,
    bound_of,
    colour_bar,
    figure,
    hover,
    signed_scale,
    weight_scale,
)

__all__ = ["OUTSIDE", "head_grids", "word_grid"]

MAX_NUMBERED = 14  # columns of a picture as wide as the page; narrower cells show their number only on hover
OUTSIDE = 90  # pixels above and below the cells
MAX_CHARACTERS = 12  # of a word in a cell; the hover has the whole word


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of head grids that stand side by side. A gap between two grids has no title."""

    title: str = ""
    head: int = 0
    label: str = ""  # the number of the head; a grid with a single column is about whole layers and has none

    def place(self, layer: int) -> str:
        """The name of a cell for the hover; the layer counts from 0."""
        if self.label:
            return t("{kind}, layer {layer}, head {head}", kind=self.title, layer=layer + 1, head=self.label)
        return t("{kind}, layer {layer}", kind=self.title, layer=layer + 1)


def head_grids(
    values: Mapping[str, FloatArray],
    *,
    unit: str,
    notes: Mapping[str, Sequence[Sequence[str]]] | None = None,
    signed: bool = False,
    most_numbered: int = MAX_NUMBERED,
    height: int,
) -> Picture:
    """Draw a grid for each kind of attention, layers down, heads across, with the numbers in the cells if they fit.

    Args:
        values: Title → (L, H); NaN leaves a cell empty, infinity is not a number. A grid with a single column is about
            whole layers.
        unit: What the numbers are.
        notes: Title → (L, H) texts for the hover.
        signed: Use the colour scale for numbers above and below 0.
        most_numbered: The columns whose cells have room for their numbers.
        height: Pixels, at least.
    """
    canvas, columns = side_by_side(values)
    bound = bound_of(canvas)
    scale = signed_scale(canvas, bound=bound) if signed else weight_scale(canvas, largest=bound)
    heads = [i for i, column in enumerate(columns) if column.title]
    layers = [str(layer + 1) for layer in range(len(canvas))]
    trace = {
        "type": "heatmap",
        **scale,
        "customdata": hover_texts(columns, len(canvas), notes or {}),
        "colorbar": colour_bar(unit),
        "xgap": 2,
        "ygap": 2,
        "hoverongaps": False,
        "hovertemplate": hover("%{customdata}", "%{z:.5f}"),
        **(cell_numbers(canvas, bound, signed=signed) if len(columns) <= most_numbered else {}),
    }
    drawn = figure(
        [trace],
        axis(t("head"), tickvals=heads, ticktext=[columns[i].label for i in heads]),
        axis(t("layer"), tickvals=list(range(len(layers))), ticktext=layers, autorange="reversed"),
        height=max(height, OUTSIDE + LINE * len(canvas)),  # no label is on another
        margin={"t": 30},
        annotations=[heading(title, [i for i in heads if columns[i].title == title]) for title in values],
    )
    names = [f"{column.title} {column.label}".strip() for column in columns]
    axes = Axes(queries=layers, keys=names, query_title=t("layer"), key_title=t("head"))
    return map_picture(drawn, canvas, axes, unit=unit, signed=signed)


def side_by_side(values: Mapping[str, FloatArray]) -> tuple[FloatArray, list[Column]]:
    """All grids in one array, NaN in the gap between two grids and below grids with fewer layers; and its columns."""
    layers = max(map(len, values.values()))
    parts, columns = [], []
    for title, grid in values.items():
        missing = [(0, layers - len(grid)), (0, 1)]
        parts.append(np.pad(grid.astype(np.float32), missing, constant_values=np.nan))
        width = grid.shape[1]
        columns += [Column(title=title, head=i, label=str(i + 1) if width > 1 else "") for i in range(width)]
        columns.append(Column())
    return np.concatenate(parts, axis=1)[:, :-1], columns[:-1]


def hover_texts(
    columns: Sequence[Column], layers: int, notes: Mapping[str, Sequence[Sequence[str]]]
) -> list[list[str]]:
    """The place and the note of each cell."""

    def text(layer: int, column: Column) -> str:
        rows = notes.get(column.title, ())
        note = rows[layer][column.head] if layer < len(rows) else ""
        return f"{column.place(layer)}<br>{note}" if column.title else ""

    return [[text(layer, column) for column in columns] for layer in range(layers)]


def heading(title: str, columns: Sequence[int]) -> Settings:
    """The title above the columns of a grid."""
    place = {"x": (columns[0] + columns[-1]) / 2, "y": 1, "yref": "paper", "yanchor": "bottom"}
    return {**place, "showarrow": False, "text": f"<b>{title}</b>", "font": TEXT}


def cell_numbers(canvas: FloatArray, high: float, *, signed: bool) -> Settings:
    """The settings that write the numbers into the cells."""
    digits = 1 if high >= 10 else 2 if high >= 0.1 else 3
    numbers = [[f"{value:.{digits}f}" if np.isfinite(value) else "" for value in row] for row in canvas]
    texts = legible(numbers, canvas, low=-high if signed else 0.0, high=high, signed=signed)
    # Without a size, Plotly fits the whole markup of a text into its cell, which makes the number tiny.
    return {"text": texts, "texttemplate": "%{text}", "textfont": {"size": LETTERS}}


def word_grid(
    words: Sequence[Sequence[str]],
    probabilities: FloatArray,
    axes: Axes,
    *,
    notes: Sequence[Sequence[str]],
    height: int,
) -> Picture:
    """Draw one word in each cell, on the colour of its probability.

    Args:
        words: (R, C).
        probabilities: (R, C).
        axes: Names of the rows and columns.
        notes: (R, C), texts for the hover and the table.
        height: Pixels, at least.
    """
    limit = max(4, min(MAX_CHARACTERS, round(100 / len(axes.keys))))  # the picture is about 1,000 pixels wide
    texts = [[escaped_label(word, limit=limit) for word in row] for row in words]
    picture = heat_map(
        probabilities,
        axes,
        unit=t("probability"),
        scale=weight_scale(probabilities),
        facts=["%{y}", "%{customdata}"],
        height=height,
        text=legible(texts, probabilities, low=0.0, high=1.0),
        texttemplate="%{text}",
        textfont={"size": LETTERS},
        customdata=[[escaped_label(note, limit=120) for note in row] for row in notes],
        xgap=2,
        ygap=2,
    )
    return replace(picture, table=partial(map_table, probabilities, axes, cells=notes))

"""One number for each head: a grid for each kind of attention, layers down, heads across."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from viz_app.content.translation import t
from viz_app.figures.colours import DIVERGING, SEQUENTIAL, legible
from viz_app.figures.labels import LETTERS, LINE
from viz_app.figures.picture import Picture, map_picture
from viz_app.figures.scales import bound_of, colour_bar
from viz_app.figures.style import TEXT, Axes, Settings, axis, figure, hover

__all__ = ["head_grids"]

FloatArray = NDArray[np.float32]
GAP = 1  # empty columns between two grids
MAX_NUMBERED = 14  # columns of a picture as wide as the page; narrower cells show their number only on hover
OUTSIDE = 90  # pixels above and below the cells


@dataclass(frozen=True, kw_only=True)
class Grid:
    """The columns of one grid in the picture."""

    title: str
    start: int  # the first column
    width: int

    @property
    def labels(self) -> list[str]:
        """The number of each head. A grid with a single column is about whole layers and has none."""
        return [str(head + 1) for head in range(self.width)] if self.width > 1 else [""]


def head_grids(
    values: Mapping[str, FloatArray],
    *,
    unit: str,
    notes: Mapping[str, Sequence[Sequence[str]]] | None = None,
    signed: bool = False,
    most_numbered: int = MAX_NUMBERED,
    height: int,
) -> Picture:
    """Draw all grids side by side in one heatmap, with the numbers in the cells if they fit.

    Args:
        values: Title → (L, H); NaN leaves a cell empty, infinity is not a number. A grid with a single column is about
            whole layers.
        unit: What the numbers are.
        notes: Title → (L, H) texts for the hover.
        signed: Use the colour scale for numbers above and below 0.
        most_numbered: The columns whose cells have room for their numbers.
        height: Pixels, at least.
    """
    grids = side_by_side(values)
    canvas = joined(grids, values)
    bound = bound_of(canvas)
    low = -bound if signed else 0.0
    trace = {
        "type": "heatmap",
        "z": np.where(np.isfinite(canvas), canvas, np.float32("nan")),
        "customdata": hover_texts(grids, canvas, notes or {}),
        "zmin": low,
        "zmax": bound,
        "colorscale": DIVERGING if signed else SEQUENTIAL,
        "colorbar": colour_bar(unit),
        "xgap": 2,
        "ygap": 2,
        "hoverongaps": False,
        "hovertemplate": hover("%{customdata}", "%{z:.5f}"),
        **(cell_numbers(canvas, low, bound, signed=signed) if canvas.shape[1] <= most_numbered else {}),
    }
    layers = [str(layer + 1) for layer in range(len(canvas))]
    drawn = figure(
        [trace],
        axis(
            t("head"),
            tickvals=[grid.start + head for grid in grids for head in range(grid.width)],
            ticktext=[label for grid in grids for label in grid.labels],
        ),
        axis(t("layer"), tickvals=list(range(len(layers))), ticktext=layers, autorange="reversed"),
        height=max(height, OUTSIDE + LINE * len(canvas)),  # no label is on another
        margin={"t": 30},
        annotations=[heading(grid) for grid in grids],
    )
    axes = Axes(queries=layers, keys=column_names(grids), query_title=t("layer"), key_title=t("head"))
    return map_picture(drawn, canvas, axes, unit=unit, signed=signed)


def side_by_side(values: Mapping[str, FloatArray]) -> list[Grid]:
    """Give each grid its columns, with a gap between two grids."""
    grids: list[Grid] = []
    start = 0
    for title, grid in values.items():
        grids.append(Grid(title=title, start=start, width=grid.shape[1]))
        start += grid.shape[1] + GAP
    return grids


def joined(grids: Sequence[Grid], values: Mapping[str, FloatArray]) -> FloatArray:
    """All grids in one array, NaN in the gaps and below grids with fewer layers."""
    layers = max(len(grid) for grid in values.values())
    canvas = np.full((layers, grids[-1].start + grids[-1].width), np.nan, dtype=np.float32)
    for grid in grids:
        canvas[: len(values[grid.title]), grid.start : grid.start + grid.width] = values[grid.title]
    return canvas


def hover_texts(
    grids: Sequence[Grid], canvas: FloatArray, notes: Mapping[str, Sequence[Sequence[str]]]
) -> list[list[str]]:
    """The place and the note of each cell of the canvas."""
    texts = np.full(canvas.shape, "", dtype=object)
    for grid in grids:
        for layer in range(len(canvas)):
            for head, label in enumerate(grid.labels):
                place = (
                    t("{kind}, layer {layer}, head {head}", kind=grid.title, layer=layer + 1, head=label)
                    if label
                    else t("{kind}, layer {layer}", kind=grid.title, layer=layer + 1)
                )
                rows = notes.get(grid.title, ())
                note = rows[layer][head] if layer < len(rows) else ""
                texts[layer, grid.start + head] = f"{place}<br>{note}"
    return texts.tolist()


def heading(grid: Grid) -> Settings:
    """The title above a grid."""
    return {
        "x": grid.start + (grid.width - 1) / 2,
        "y": 1,
        "yref": "paper",
        "yanchor": "bottom",
        "showarrow": False,
        "text": f"<b>{grid.title}</b>",
        "font": TEXT,
    }


def column_names(grids: Sequence[Grid]) -> list[str]:
    """The names of the columns of all grids and of the gaps between them."""
    names: list[str] = []
    for grid in grids:
        names += [""] * (grid.start - len(names))
        names += [f"{grid.title} {label}".strip() for label in grid.labels]
    return names


def cell_numbers(canvas: FloatArray, low: float, high: float, *, signed: bool) -> Settings:
    """The settings that write the numbers into the cells."""
    digits = 1 if high >= 10 else 2 if high >= 0.1 else 3
    numbers = [[f"{value:.{digits}f}" if np.isfinite(value) else "" for value in row] for row in canvas]
    texts = legible(numbers, canvas, low=low, high=max(high, low + 1e-9), signed=signed)
    # Without a size, Plotly fits the whole markup of a text into its cell, which makes the number tiny.
    return {"text": texts, "texttemplate": "%{text}", "textfont": {"size": LETTERS}}

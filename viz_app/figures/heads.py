"""A number for every head: all kinds of attention side by side, layers down, heads across."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from viz_app.figures.colours import DIVERGING, SEQUENTIAL, colour_bar, legible
from viz_app.figures.picture import Picture, map_picture
from viz_app.figures.style import TEXT, Axes, Settings, axis, figure

__all__ = ["head_grids"]

FloatArray = NDArray[np.float32]
GAP = 1  # empty columns between two kinds
MAX_NUMBERED = 14  # columns; in narrower cells numbers would be too small to be read, and the hover has them


def head_grids(
    values: Mapping[str, FloatArray],
    *,
    unit: str,
    notes: Mapping[str, Sequence[Sequence[str]]] | None = None,
    signed: bool = False,
    height: int,
) -> Picture:
    """Draw the grids of all kinds as one heatmap with gaps, the number in each cell where there is room for it.

    Args:
        values: Heading → (L, H); NaN is left empty. One with a single column is of whole layers.
        unit: Of the numbers.
        notes: Heading → (L, H) of words for the hover.
        signed: Colours for numbers on both sides of 0.
        height: Pixels.
    """
    layers = max(len(grid) for grid in values.values())
    widths = [grid.shape[1] for grid in values.values()]
    starts = [sum(widths[:i]) + GAP * i for i in range(len(widths))]
    canvas = np.full((layers, starts[-1] + widths[-1]), np.nan, dtype=np.float32)
    hover = np.full(canvas.shape, "", dtype=object)
    for start, (name, grid) in zip(starts, values.items(), strict=True):
        for layer, row in enumerate(grid):
            canvas[layer, start : start + len(row)] = row
            for head in range(len(row)):
                note = notes[name][layer][head] if notes else ""
                which = f", head {head + 1}" if len(row) > 1 else ""
                hover[layer, start + head] = f"{name}, layer {layer + 1}{which}<br>{note}"
    bound = float(np.nanmax(np.abs(canvas))) if np.isfinite(canvas).any() else 1.0
    ends = (-bound if signed else 0.0, bound)
    trace = {
        "type": "heatmap",
        "z": canvas,
        "customdata": hover.tolist(),
        "zmin": ends[0],
        "zmax": ends[1],
        "colorscale": DIVERGING if signed else SEQUENTIAL,
        "colorbar": colour_bar(unit),
        "xgap": 2,
        "ygap": 2,
        "hoverongaps": False,
        "hovertemplate": "%{customdata}<br>%{z:.5f}<extra></extra>",
        **(written(canvas, *ends, signed=signed) if canvas.shape[1] <= MAX_NUMBERED else {}),
    }
    headings = [
        {
            **{"x": start + (width - 1) / 2, "y": 1, "yref": "paper", "yanchor": "bottom", "showarrow": False},
            **{"text": f"<b>{name}</b>", "font": TEXT},
        }
        for start, width, name in zip(starts, widths, values, strict=True)
    ]
    drawn = figure(
        [trace],
        axis(
            "head",
            tickvals=[start + head for start, width in zip(starts, widths, strict=True) for head in range(width)],
            ticktext=[str(head + 1) if width > 1 else "" for width in widths for head in range(width)],
        ),
        axis(
            "layer",
            tickvals=list(range(layers)),
            ticktext=[str(layer + 1) for layer in range(layers)],
            autorange="reversed",
        ),
        height=height,
        margin={"t": 30},
        annotations=headings,
    )
    axes = Axes(
        queries=[str(layer + 1) for layer in range(layers)],
        keys=column_names(values),
        query_title="layer",
        key_title="head",
    )
    return map_picture(drawn, canvas, axes, unit=unit, signed=signed)


def column_names(values: Mapping[str, FloatArray]) -> list[str]:
    """Of the columns of all grids and the gaps between them."""
    names: list[str] = []
    for heading, grid in values.items():
        heads = grid.shape[1]
        names += [f"{heading} {head + 1}" if heads > 1 else heading for head in range(heads)] + [""] * GAP
    return names[:-GAP]


def written(canvas: FloatArray, low: float, high: float, *, signed: bool) -> Settings:
    """How a heatmap writes its numbers into its cells."""
    digits = 2 if high >= 0.1 else 3
    numbers = [["" if np.isnan(value) else f"{value:.{digits}f}" for value in row] for row in canvas]
    texts = legible(numbers, canvas, low=low, high=max(high, low + 1e-9), signed=signed)
    return {"text": texts, "texttemplate": "%{text}"}

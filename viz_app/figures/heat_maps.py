"""Numbers as coloured cells: the map of a head, a mask, and scores before and after it is added.

Attention maps on the pages are components (`draw_map` of `viz_app/widgets/charts.py`). Plotly draws what is larger than
they can be, since they have an element for each cell, and the maps of a notebook.
"""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz_app.content.numbers import decimal
from viz_app.content.translation import t
from viz_app.figures.colours import ALLOWED, MASKED, ink
from viz_app.figures.labels import escaped_label
from viz_app.figures.picture import Picture, map_picture, map_table
from viz_app.figures.style import (
    Axes,
    FloatArray,
    Settings,
    axis,
    colour_bar,
    figure,
    flat_cells,
    hover,
    label_settings,
    map_figure,
    marked,
    signed_scale,
    weight_scale,
)

__all__ = ["head_map", "heat_map", "mask_map", "score_map", "two_colours"]

BoolArray = NDArray[np.bool_]
MAX_NOTES = 1600  # cells; each sends its note to the browser
MAX_SIGNS = 400  # cells; a sign does not fit into smaller cells
MAX_WORDS = 4096  # cells; the hover of a larger mask shows 0 or 1 instead of a word


def heat_map(
    values: FloatArray,
    axes: Axes,
    *,
    unit: str,
    scale: Settings,
    facts: Sequence[str],
    height: int,
    signed: bool = False,
    masked: str = "",
    numbered: bool = False,
    columns: Settings | None = None,
    **settings: object,
) -> Picture:
    """Draw numbers as coloured cells.

    Args:
        values: (T, S), NaN where a cell is empty, infinite where it is not a number.
        axes: Names of the rows and columns.
        unit: What the numbers are.
        scale: Their colours, such as `weight_scale` of the values.
        facts: The lines beside the pointer, see `hover`.
        height: Pixels, at least.
        signed: There are numbers above and below 0.
        masked: Draws empty cells grey, with this line beside the pointer; without it they stay clear.
        numbered: Rows and columns are numbered from 0, so they need no labels.
        columns: Further settings of the horizontal axis.
        settings: Further settings of the cells, named as in Plotly.
    """
    cells: Settings = {"type": "heatmap", "hoverongaps": False, **({} if numbered else label_settings(axes))}
    traces = [{**cells, **scale, "colorbar": colour_bar(unit), "hovertemplate": hover(*facts), **settings}]
    if masked and np.isnan(values).any():
        traces.append({**cells, **flat_cells(np.isnan(values)), "hovertemplate": hover(*cell_lines(), masked)})
    if numbered:
        x, y = axis(axes.key_title, **(columns or {})), axis(axes.query_title, autorange="reversed")
        drawn = figure(traces, x, y, height=height)
    else:
        drawn = map_figure(traces, axes, height=height, columns=columns)
    return map_picture(drawn, values, axes, unit=unit, signed=signed)


def cell_lines(query: str = "%{y}") -> list[str]:
    """The lines of `hover` that name the query and the key of a cell."""
    return [t("query: {token}", token=query), t("key: {token}", token="%{x}")]


def head_map(weights: FloatArray, axes: Axes, allowed: BoolArray, *, height: int) -> Picture:
    """Draw the map of a head, with the exact number on hover and masked cells in grey.

    Args:
        weights: (T, S).
        axes: Names of the rows and columns.
        allowed: (T, S), False where masked.
        height: Pixels, at least.
    """
    numbers, unit = marked(weights, allowed), t("attention weight")
    notes = [[escaped_label(note, limit=80)] * len(axes.keys) for note in axes.query_notes]  # (T, S)
    noted: dict[str, Any] = {"text": notes} if notes and weights.size <= MAX_NOTES else {}
    return heat_map(
        numbers,
        axes,
        unit=unit,
        scale=weight_scale(numbers),
        facts=[*cell_lines("%{text}" if noted else "%{y}"), t("{name}: {value}", name=unit, value="%{z:.6f}")],
        masked=t("masked: weight exactly 0"),
        height=height,
        **noted,
    )


def score_map(scores: FloatArray, axes: Axes, *, bound: float, height: int) -> Picture:
    """Draw scores; −∞, a masked cell, is grey.

    Args:
        scores: (T, S), before the softmax.
        axes: Names of the rows and columns.
        bound: Ends of the colour scale, equal in pictures that are compared.
        height: Pixels, at least.
    """
    numbers = marked(scores, ~np.isneginf(scores))
    return heat_map(
        numbers,
        axes,
        unit=t("score"),
        scale=signed_scale(numbers, bound=bound),
        facts=[*cell_lines(), t("score: {number}", number="%{z:.4f}")],
        signed=True,
        masked=t("score: −∞ (masked)"),
        height=height,
    )


def two_colours(cells: NDArray[np.generic], no: str, yes: str) -> Settings:
    """The cells of a heatmap that are 0 or 1, or False or True, in two colours with gaps between them."""
    scale = [(0, no), (0.5, no), (0.5, yes), (1, yes)]
    gaps = {"xgap": 1, "ygap": 1}
    return {"z": cells.astype(np.uint8), "zmin": 0, "zmax": 1, "colorscale": scale, "showscale": False, **gaps}


def mask_map(mask: BoolArray, axes: Axes, *, height: int) -> Picture:
    """Draw a mask (T, S): blue where True (may attend), grey with a × where False (masked)."""
    words = {"customdata": np.where(mask, t("may attend"), t("masked"))} if mask.size <= MAX_WORDS else {}
    # A reader who cannot tell the colours apart needs a sign.
    signs = {"text": np.where(mask, "", "×"), "texttemplate": "%{text}"} if mask.size <= MAX_SIGNS else {}
    meaning = "%{customdata}" if words else t("{number} (1 = may attend, 0 = masked)", number="%{z}")
    trace = {
        "type": "heatmap",
        **label_settings(axes),
        **two_colours(mask, MASKED, ALLOWED),
        **words,
        **signs,
        "textfont": {"size": 14, "color": ink(MASKED)},
        "hovertemplate": hover(t("row: {token}", token="%{y}"), t("column: {token}", token="%{x}"), meaning),
    }
    return Picture(
        figure=map_figure([trace], axes, height=height),
        table=partial(map_table, mask.astype(np.float32), axes),
        summary=t(
            "{n} of {all} cells may attend; the others are masked.",
            n=decimal(int(mask.sum())),
            all=decimal(mask.size),
        ),
    )

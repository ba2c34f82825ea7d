"""One attention map, or the difference of two: queries in rows, keys in columns."""

import numpy as np
from numpy.typing import NDArray

from viz_app.content.translation import t
from viz_app.figures.colours import SEQUENTIAL
from viz_app.figures.labels import escaped_label, unique_labels
from viz_app.figures.overview import INVISIBLE_SQUARES
from viz_app.figures.picture import Picture, map_picture
from viz_app.figures.scales import bound_of, colour_bar, flat_cells, marked, signed_scale, weight_scale
from viz_app.figures.style import Axes, Settings, cell_lines, hover, label_settings, map_figure

__all__ = ["clickable_map", "difference_map", "head_map"]

FloatArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]
MAX_NOTES = 1600  # cells; each sends its note to the browser


def head_map(
    weights: FloatArray,
    axes: Axes,
    allowed: BoolArray,
    *,
    height: int,
    unit: str = "",
    largest: float = 1.0,
    logarithmic: bool = False,
) -> Picture:
    """Draw one map, with the exact number on hover and masked cells in grey.

    Args:
        weights: (T, S).
        axes: Names of the rows and columns.
        allowed: (T, S), False where masked.
        height: Pixels.
        unit: What the numbers are; by default attention weights.
        largest: Upper end of the colour scale.
        logarithmic: Use a logarithmic colour scale; the hover shows the number itself.
    """
    unit = unit or t("attention weight")
    traces = map_traces(weights, axes, allowed, unit=unit, largest=largest, logarithmic=logarithmic)
    return map_picture(map_figure(traces, axes, height=height), marked(weights, allowed), axes, unit=unit)


def clickable_map(
    weights: FloatArray, axes: Axes, allowed: BoolArray, *, height: int, first: tuple[int, int] = (0, 0)
) -> Picture:
    """Draw one map as `head_map` does. The point of each cell that is not masked has (query, key) as its `customdata`.

    Args:
        weights: (T, S), a section of a map that can be read.
        axes: Names of the rows and columns.
        allowed: (T, S), False where masked.
        height: Pixels.
        first: The query and the key of the first cell in the whole map.
    """
    unit = t("attention weight")
    traces = map_traces(weights, axes, allowed, unit=unit)
    columns, rows = unique_labels(axes.keys), unique_labels(axes.queries)
    cells = [(int(t), int(s)) for t, s in np.argwhere(allowed)]
    squares = {
        **INVISIBLE_SQUARES,
        "x": [columns[s] for _, s in cells],
        "y": [rows[t] for t, _ in cells],
        "customdata": [[first[0] + t, first[1] + s] for t, s in cells],
        "marker": {"symbol": "square", "size": 18, "opacity": 0},
        "text": [f"{weights[cell]:.6f}" if np.isfinite(weights[cell]) else t("not a number") for cell in cells],
        "hovertemplate": hover(*cell_lines(), t("weight: {number}", number="%{text}"), t("choose to paint")),
    }
    drawn = map_figure([*traces, squares], axes, height=height, hovermode="closest")
    return map_picture(drawn, marked(weights, allowed), axes, unit=unit)


def difference_map(difference: FloatArray, axes: Axes, allowed: BoolArray, *, height: int, unit: str = "") -> Picture:
    """Draw one map minus another: red above 0, blue below, grey where masked.

    Args:
        difference: (T, S).
        axes: Names of the rows and columns.
        allowed: (T, S), False where masked.
        height: Pixels.
        unit: What the numbers are; by default differences.
    """
    unit = unit or t("difference")
    cells = {"type": "heatmap", **label_settings(axes), "hoverongaps": False}
    numbers = marked(difference, allowed)
    bound = bound_of(numbers)
    lines = ((axes.query_title, "%{y}"), (axes.key_title, "%{x}"), (unit, "%{z:+.6f}"))
    facts = hover(*(t("{name}: {value}", name=name, value=value) for name, value in lines))
    traces = [
        {**cells, **signed_scale(numbers, bound=bound), "colorbar": colour_bar(unit), "hovertemplate": facts},
        *([] if allowed.all() else [{**cells, **flat_cells(~allowed), "hoverinfo": "skip"}]),
    ]
    return map_picture(map_figure(traces, axes, height=height), numbers, axes, unit=unit, signed=True)


def map_traces(
    weights: FloatArray, axes: Axes, allowed: BoolArray, *, unit: str, largest: float = 1.0, logarithmic: bool = False
) -> list[Settings]:
    """The heatmap of the weights and a grey one on top if some cells are masked. See `head_map` for the parameters."""
    cells = {"type": "heatmap", **label_settings(axes), "hoverongaps": False}
    numbers = marked(weights, allowed)
    notes = query_notes(axes) if weights.size <= MAX_NOTES else []
    query, number = "%{text}" if notes else "%{y}", "%{customdata:.6f}" if logarithmic else "%{z:.6f}"
    heatmap = {
        **cells,
        **weight_scale(numbers, largest=largest, logarithmic=logarithmic),
        **({"text": notes} if notes else {}),
        **({"customdata": numbers} if logarithmic else {}),
        "colorscale": SEQUENTIAL,
        "colorbar": colour_bar(unit, largest=largest, logarithmic=logarithmic),
        "hovertemplate": hover(*cell_lines(query), t("{name}: {value}", name=unit, value=number)),
    }
    if allowed.all():
        return [heatmap]
    facts = hover(*cell_lines(), t("masked: weight exactly 0"))
    return [heatmap, {**cells, **flat_cells(~allowed), "hovertemplate": facts}]


def query_notes(axes: Axes) -> list[list[str]]:
    """The note of each query, repeated for its cells (T, S); empty without notes."""
    return [[escaped_label(note, limit=80)] * len(axes.keys) for note in axes.query_notes]

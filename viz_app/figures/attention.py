"""Attention maps: every head at once as one tiled picture, and one head large."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from viz_app.figures.colours import ACCENT, SEQUENTIAL, colour_bar, grey_where, signed_scale, weight_scale
from viz_app.figures.picture import Picture, map_picture, overview_summary, overview_table
from viz_app.figures.pixels import painted, png
from viz_app.figures.style import Axes, Settings, axis, figure, label_settings, map_figure, shown, unique_labels

__all__ = [
    "MAX_SQUARES",
    "MAX_TILE",
    "SHARPNESS",
    "clickable_map",
    "difference_map",
    "head_map",
    "overview",
    "pooled",
    "sharpness",
]

FloatArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]
SHARPNESS = "The largest weight of each row, averaged over the rows"
MAX_NOTED = 1600  # cells; each carries its text to the browser
MAX_TILE = 48  # cells a side of an overview tile; more would be smaller than a pixel
MAX_SQUARES = 2_000  # cells of a map that can be clicked; each is an element of the browser's page
# A picture sends no click: squares that nobody sees lie over it, which stay unseen when one of them is chosen.
UNSEEN: Settings = {
    "type": "scatter",
    "mode": "markers",
    "selected": {"marker": {"opacity": 0}},
    "unselected": {"marker": {"opacity": 0}},
    "showlegend": False,
}


def pooled(maps: FloatArray, limit: int = MAX_TILE) -> FloatArray:
    """Shrink maps (L, H, T, S) to at most `limit` cells a side; each new cell is the largest of those it covers."""
    *_, rows, columns = maps.shape
    row_step, column_step = math.ceil(rows / limit), math.ceil(columns / limit)
    if row_step == column_step == 1:
        return np.asarray(maps, dtype=np.float32)
    padding = [(0, 0), (0, 0), (0, -rows % row_step), (0, -columns % column_step)]
    padded = np.pad(maps, padding, constant_values=0.0)
    layers, heads = maps.shape[:2]
    blocks = padded.reshape(layers, heads, -1, row_step, padded.shape[3] // column_step, column_step)
    return np.asarray(blocks.max(axis=(3, 5)), dtype=np.float32)


def tiled(maps: FloatArray, gap_y: int, gap_x: int) -> FloatArray:
    """Lay maps (L, H, T, S) out as one picture, layers down, heads across, with gutters of NaN between them."""
    layers, heads, rows, columns = maps.shape
    picture = np.full((layers, rows + gap_y, heads, columns + gap_x), np.nan, dtype=np.float32)
    picture[:, :rows, :, :columns] = maps.transpose(0, 2, 1, 3)
    return picture.reshape(layers * (rows + gap_y), -1)[:-gap_y, :-gap_x]


def overview(
    maps: FloatArray,
    axes: Axes,
    allowed: BoolArray,
    *,
    chosen: tuple[int, int | None],
    height: int,
    largest: float = 1.0,
    logarithmic: bool = False,
) -> Picture:
    """Draw every layer and head as one picture with gutters between the tiles.

    An unseen square lies over each tile; its `customdata` is (layer, head).

    Args:
        maps: (L, H, T, S), rows are queries.
        axes: What the rows and columns of each tile are, for the hover.
        allowed: (L, T, S), False where the mask forbids; such cells are grey.
        chosen: The layer, and the head or None for all heads of that layer, to be framed; counted from 0.
        height: Pixels.
        largest: Upper end of the colour scale.
        logarithmic: The colour scale.
    """
    tiles = pooled(maps)
    layers, heads, rows, columns = tiles.shape
    closed = pooled(allowed[:, None].astype(np.float32)) == 0  # (L, 1, rows, columns)
    gap_y, gap_x = max(1, round(rows * 0.08)), max(1, round(columns * 0.08))
    scale = weight_scale(tiled(tiles, gap_y, gap_x), largest=largest, logarithmic=logarithmic)
    masked = tiled(np.broadcast_to(closed, tiles.shape), gap_y, gap_x) == 1
    centres_y = [layer * (rows + gap_y) + (rows - 1) / 2 for layer in range(layers)]
    centres_x = [head * (columns + gap_x) + (columns - 1) / 2 for head in range(heads)]
    picture = png(painted(scale["z"], low=scale["zmin"], high=scale["zmax"], masked=masked))
    squares = tile_squares(centres_x, centres_y, axes, height=height)
    layer, chosen_head = chosen
    first, last = (0, heads - 1) if chosen_head is None else (chosen_head, chosen_head)
    frame = tile_frame(layer, first, last, size=(rows, columns), gaps=(gap_y, gap_x))
    height_, width = scale["z"].shape
    drawn = figure(
        [{"type": "image", "source": picture, "hoverinfo": "skip"}, squares],
        numbered("head", centres_x, range=[-0.5 - gap_x, width - 0.5 + gap_x], side="bottom"),
        numbered("layer", centres_y, range=[height_ - 0.5 + gap_y, -0.5 - gap_y], scaleanchor=False),
        height=height,
        margin={"l": 52, "b": 56},
        shapes=[frame],
        hovermode="closest",
        hoverdistance=60,
    )
    sharpest = sharpness(maps)
    return Picture(
        figure=drawn, table=partial(overview_table, sharpest), summary=overview_summary(sharpest, unit=SHARPNESS)
    )


def sharpness(maps: FloatArray) -> FloatArray:
    """The largest weight of each row of (L, H, T, S), averaged over the rows: (L, H)."""
    return np.asarray(maps.max(axis=-1).mean(axis=-1))


def tile_squares(centres_x: Sequence[float], centres_y: Sequence[float], axes: Axes, *, height: int) -> Settings:
    """An unseen square over each tile of a picture of all heads; its `customdata` is (layer, head)."""
    every = [(layer, head) for layer in range(len(centres_y)) for head in range(len(centres_x))]
    return {
        **UNSEEN,
        "x": [centres_x[head] for _, head in every],
        "y": [centres_y[layer] for layer, _ in every],
        # A list, not an array: the browser hands a binary array back cut into single numbers.
        "customdata": [[layer, head] for layer, head in every],
        "marker": {"symbol": "square", "size": max(4, min(46, height // len(centres_y) - 6)), "opacity": 0},
        "text": [f"layer {layer + 1} · head {head + 1}" for layer, head in every],
        "hovertemplate": (
            f"%{{text}}<br>rows: {axes.query_title}<br>columns: {axes.key_title}<br>choose to open<extra></extra>"
        ),
    }


def tile_frame(layer: int, first: int, last: int, *, size: tuple[int, int], gaps: tuple[int, int]) -> Settings:
    """A frame around the tiles of a layer, from one head to another.

    Args:
        layer: Counted from 0.
        first: Head, counted from 0.
        last: Head, counted from 0.
        size: Rows and columns of a tile.
        gaps: Between the tiles, below each other and side by side.
    """
    (rows, columns), (gap_y, gap_x) = size, gaps
    return {
        "type": "rect",
        "x0": first * (columns + gap_x) - 0.5 - gap_x / 2,
        "x1": last * (columns + gap_x) + columns - 0.5 + gap_x / 2,
        "y0": layer * (rows + gap_y) - 0.5 - gap_y / 2,
        "y1": layer * (rows + gap_y) + rows - 0.5 + gap_y / 2,
        "line": {"color": ACCENT, "width": 3},
    }


def numbered(title: str, centres: list[float], **settings: object) -> Settings:
    """An axis that counts from 1."""
    names = [str(i + 1) for i in range(len(centres))]
    return axis(title, tickvals=centres, ticktext=names, ticks="", automargin=False, **settings)


def head_map(
    weights: FloatArray,
    axes: Axes,
    allowed: BoolArray,
    *,
    height: int,
    unit: str = "attention weight",
    largest: float = 1.0,
    logarithmic: bool = False,
) -> Picture:
    """Draw one map (T, S) large: query rows, key columns, the exact number on hover, grey where the mask forbids.

    Args:
        weights: (T, S).
        axes: Labels.
        allowed: (T, S), False where the mask forbids.
        height: Pixels.
        unit: What the numbers are.
        largest: Upper end of the colour scale.
        logarithmic: The colour scale; the hover tells the number itself.
    """
    traces = map_traces(weights, axes, allowed, unit=unit, largest=largest, logarithmic=logarithmic)
    return map_picture(map_figure(traces, axes, height=height), visible(weights, allowed), axes, unit=unit)


def visible(numbers: FloatArray, allowed: BoolArray) -> FloatArray:
    """The numbers (T, S), NaN where the mask forbids."""
    return np.where(allowed, numbers, np.float32("nan")).astype(np.float32)


def noted(weights: FloatArray, axes: Axes) -> list[list[str]] | None:
    """What the hover says of each cell's query, if there is anything and the map is not too large to carry it."""
    if not axes.query_notes or weights.size > MAX_NOTED:
        return None
    return [[shown(note, limit=80)] * weights.shape[1] for note in axes.query_notes]


def map_traces(
    weights: FloatArray, axes: Axes, allowed: BoolArray, *, unit: str, largest: float = 1.0, logarithmic: bool = False
) -> list[Settings]:
    place = {"type": "heatmap", **label_settings(axes), "hoverongaps": False}
    shown_weights = visible(weights, allowed)
    number = "%{customdata:.6f}" if logarithmic else "%{z:.6f}"
    notes = noted(weights, axes)
    query = "%{text}" if notes else "%{y}"
    drawn = {
        **place,
        **weight_scale(shown_weights, largest=largest, logarithmic=logarithmic),
        **({"text": notes} if notes else {}),
        **({"customdata": shown_weights} if logarithmic else {}),
        "colorscale": SEQUENTIAL,
        "colorbar": colour_bar(unit, largest=largest, logarithmic=logarithmic),
        "hovertemplate": f"query: {query}<br>key: %{{x}}<br>{unit}: {number}<extra></extra>",
    }
    if allowed.all():
        return [drawn]
    hover = "query: %{y}<br>key: %{x}<br>masked: weight exactly 0<extra></extra>"
    return [drawn, {**place, **grey_where(~allowed), "hovertemplate": hover}]


def difference_map(
    difference: FloatArray, axes: Axes, allowed: BoolArray, *, height: int, unit: str = "difference"
) -> Picture:
    """Draw one map minus another (T, S): red where it is above 0, blue below, grey where the mask forbids."""
    bound = max(float(np.abs(difference[allowed]).max(initial=0.0)), 1e-6)
    place = {"type": "heatmap", **label_settings(axes), "hoverongaps": False}
    shown_difference = visible(difference, allowed)
    traces = [
        {
            **place,
            **signed_scale(shown_difference, bound=bound),
            "colorbar": colour_bar(unit),
            "hovertemplate": (
                f"{axes.query_title}: %{{y}}<br>{axes.key_title}: %{{x}}<br>{unit}: %{{z:+.6f}}<extra></extra>"
            ),
        }
    ]
    if not allowed.all():
        traces.append({**place, **grey_where(~allowed), "hoverinfo": "skip"})
    return map_picture(map_figure(traces, axes, height=height), shown_difference, axes, unit=unit, signed=True)


def clickable_map(weights: FloatArray, axes: Axes, allowed: BoolArray, *, height: int) -> Picture:
    """As `head_map`, with an unseen square over every allowed cell whose `customdata` is (query, key).

    Of a map with more than `MAX_SQUARES` allowed cells, those with the largest weights can be clicked.
    """
    traces = map_traces(weights, axes, allowed, unit="attention weight")
    columns, rows = unique_labels(axes.keys), unique_labels(axes.queries)
    order = np.argsort(np.where(allowed, -weights, np.inf), axis=None, kind="stable")[: int(allowed.sum())]
    cells = [(int(i) // weights.shape[1], int(i) % weights.shape[1]) for i in order[:MAX_SQUARES]]
    squares = {
        **UNSEEN,
        "x": [columns[s] for _, s in cells],
        "y": [rows[t] for t, _ in cells],
        "customdata": [list(cell) for cell in cells],
        "marker": {"symbol": "square", "size": 18, "opacity": 0},
        "text": [f"{weights[cell]:.6f}" for cell in cells],
        "hovertemplate": "query: %{y}<br>key: %{x}<br>weight: %{text}<br>choose to paint<extra></extra>",
    }
    drawn = map_figure([*traces, squares], axes, height=height, hovermode="closest")
    return map_picture(drawn, visible(weights, allowed), axes, unit="attention weight")

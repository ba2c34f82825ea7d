"""Attention maps: every head at once as one tiled picture, and one head large."""

import math

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz_app.figures.pixels import painted, png
from viz_app.figures.style import (
    ACCENT,
    SEQUENTIAL,
    Axes,
    colour_bar,
    finish,
    label_axes,
    masked_cells,
    shown,
    unique_labels,
    weight_scale,
)

__all__ = ["MAX_TILE", "clickable_map", "head_map", "overview", "pooled"]

FloatArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]
MAX_NOTED = 1600  # cells; each carries its text to the browser
MAX_TILE = 48  # cells a side of an overview tile; more would be smaller than a pixel


def pooled(maps: FloatArray, limit: int = MAX_TILE) -> FloatArray:
    """Shrink maps (L, H, T, S) to at most `limit` cells a side; each new cell is the largest of those it covers."""
    *_, rows, columns = maps.shape
    row_step, column_step = math.ceil(rows / limit), math.ceil(columns / limit)
    padding = [(0, 0), (0, 0), (0, -rows % row_step), (0, -columns % column_step)]
    padded = np.pad(maps, padding, constant_values=0.0)
    layers, heads = maps.shape[:2]
    blocks = padded.reshape(layers, heads, -1, row_step, padded.shape[3] // column_step, column_step)
    return np.asarray(blocks.max(axis=(3, 5)), dtype=np.float32)


def tiled(maps: FloatArray, gap_y: int, gap_x: int) -> FloatArray:
    """Lay maps (L, H, T, S) out as one picture, layers down, heads across, with gutters of NaN between them."""
    padded = np.pad(maps, [(0, 0), (0, 0), (0, gap_y), (0, gap_x)], constant_values=np.nan)
    layers, heads, rows, columns = padded.shape
    picture = padded.transpose(0, 2, 1, 3).reshape(layers * rows, heads * columns)
    return np.ascontiguousarray(picture[:-gap_y, :-gap_x], dtype=np.float32)


def overview(
    maps: FloatArray,
    axes: Axes,
    allowed: BoolArray,
    *,
    chosen: tuple[int, int | None],
    height: int,
    largest: float = 1.0,
    logarithmic: bool = False,
) -> go.Figure:
    """Draw every layer and head as one picture with gutters between the tiles.

    A picture sends no click, so an invisible square lies over each tile; its `customdata` is (layer, head).

    Args:
        maps: (L, H, T, S), rows are queries.
        axes: What the rows and columns of each tile are, for the hover.
        allowed: (T, S), False where the mask forbids; such cells are grey.
        chosen: The layer, and the head or None for all heads of that layer, to be framed; counted from 0.
        height: Pixels.
        largest: Upper end of the colour scale.
        logarithmic: The colour scale.
    """
    tiles = pooled(maps)
    open_cells = pooled(np.broadcast_to(allowed, maps.shape).astype(np.float32)) > 0
    layers, heads, rows, columns = tiles.shape
    gap_y, gap_x = max(1, round(rows * 0.08)), max(1, round(columns * 0.08))
    scale = weight_scale(tiled(tiles, gap_y, gap_x), largest=largest, logarithmic=logarithmic)
    canvas, masked = scale["z"], tiled((~open_cells).astype(np.float32), gap_y, gap_x) == 1
    centres_y = [layer * (rows + gap_y) + (rows - 1) / 2 for layer in range(layers)]
    centres_x = [head * (columns + gap_x) + (columns - 1) / 2 for head in range(heads)]
    figure = go.Figure(
        go.Image(source=png(painted(canvas, low=scale["zmin"], high=scale["zmax"], masked=masked)), hoverinfo="skip")
    )
    figure.add_trace(
        go.Scatter(
            x=np.tile(centres_x, layers),
            y=np.repeat(centres_y, heads),
            # A list, not an array: the browser hands a binary array back cut into single numbers.
            customdata=[[layer, head] for layer in range(layers) for head in range(heads)],
            mode="markers",
            marker={"symbol": "square", "size": min(46, height // layers - 6), "opacity": 0},
            selected={"marker": {"opacity": 0}},
            unselected={"marker": {"opacity": 0}},
            text=[f"layer {layer + 1} · head {head + 1}" for layer in range(layers) for head in range(heads)],
            hovertemplate=(
                f"%{{text}}<br>rows: {axes.query_title}<br>columns: {axes.key_title}<br>click to open<extra></extra>"
            ),
            showlegend=False,
        )
    )
    layer, chosen_head = chosen
    first, last = (0, heads - 1) if chosen_head is None else (chosen_head, chosen_head)
    figure.add_shape(
        type="rect",
        x0=first * (columns + gap_x) - 0.5 - gap_x / 2,
        x1=last * (columns + gap_x) + columns - 0.5 + gap_x / 2,
        y0=layer * (rows + gap_y) - 0.5 - gap_y / 2,
        y1=layer * (rows + gap_y) + rows - 0.5 + gap_y / 2,
        line={"color": ACCENT, "width": 3},
    )
    figure.update_xaxes(
        tickvals=centres_x,
        ticktext=[str(head + 1) for head in range(heads)],
        title={"text": "head", "standoff": 12},
        side="bottom",
        ticks="",
        range=[-0.5 - gap_x, canvas.shape[1] - 0.5 + gap_x],
    )
    figure.update_yaxes(
        tickvals=centres_y,
        ticktext=[str(layer + 1) for layer in range(layers)],
        title={"text": "layer", "standoff": 12},
        range=[canvas.shape[0] - 0.5 + gap_y, -0.5 - gap_y],
        scaleanchor=False,
        ticks="",
    )
    finish(figure, height=height)
    figure.update_xaxes(automargin=False)
    figure.update_yaxes(automargin=False)
    figure.update_layout(hovermode="closest", hoverdistance=60, margin={"l": 48, "b": 52})
    return figure


def noted(weights: FloatArray, axes: Axes) -> list[list[str]] | None:
    """What the hover says of each cell's query, if there is anything and the map is not too large to carry it."""
    if not axes.query_notes or weights.size > MAX_NOTED:
        return None
    return [[shown(note, limit=80)] * weights.shape[1] for note in axes.query_notes]


def head_map(
    weights: FloatArray,
    axes: Axes,
    allowed: BoolArray,
    *,
    height: int,
    unit: str = "attention weight",
    largest: float = 1.0,
    logarithmic: bool = False,
) -> go.Figure:
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
    gap = 1 if max(weights.shape) <= 40 else 0
    place = {"x": unique_labels(axes.keys), "y": unique_labels(axes.queries), "xgap": gap, "ygap": gap}
    visible = np.where(allowed, weights, np.float32("nan")).astype(np.float32)
    number = "%{customdata:.6f}" if logarithmic else "%{z:.6f}"
    query = "%{text}" if noted(weights, axes) else "%{y}"
    figure = go.Figure(
        go.Heatmap(
            **weight_scale(visible, largest=largest, logarithmic=logarithmic),
            customdata=visible if logarithmic else None,
            colorscale=SEQUENTIAL,
            colorbar=colour_bar(unit, largest=largest, logarithmic=logarithmic),
            hoverongaps=False,
            text=noted(weights, axes),
            hovertemplate=f"query: {query}<br>key: %{{x}}<br>{unit}: {number}<extra></extra>",
            **place,
        )
    )
    if not allowed.all():
        hover = "query: %{y}<br>key: %{x}<br>masked: weight exactly 0<extra></extra>"
        figure.add_trace(masked_cells(~allowed, hovertemplate=hover, **place))
    # A row of text needs 13 pixels; above 60 rows only some of them are labelled.
    label_axes(figure, axes, height=max(height, 13 * min(len(axes.queries), 60) + 110))
    return figure


def clickable_map(weights: FloatArray, axes: Axes, allowed: BoolArray, *, height: int) -> go.Figure:
    """As `head_map`, with an invisible square over every allowed cell whose `customdata` is (query, key)."""
    figure = head_map(weights, axes, allowed, height=height)
    columns, rows = figure.data[0].x, figure.data[0].y
    cells = [(int(t), int(s)) for t, s in zip(*np.nonzero(allowed), strict=True)]
    figure.add_trace(
        go.Scatter(
            x=[columns[s] for _, s in cells],
            y=[rows[t] for t, _ in cells],
            customdata=[list(cell) for cell in cells],
            mode="markers",
            marker={"symbol": "square", "size": 18, "opacity": 0},
            selected={"marker": {"opacity": 0}},
            unselected={"marker": {"opacity": 0}},
            text=[f"{weights[cell]:.6f}" for cell in cells],
            hovertemplate="query: %{y}<br>key: %{x}<br>weight: %{text}<br>click to paint<extra></extra>",
            showlegend=False,
        )
    )
    figure.update_layout(hovermode="closest")
    return figure

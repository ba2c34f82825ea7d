"""Every layer and head as one picture of small maps: layers down, heads across."""

import math
from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from viz_app.content.limits import MAX_TILE
from viz_app.content.translation import t
from viz_app.figures.colours import ACCENT
from viz_app.figures.picture import Picture, add_legend, worded_cells
from viz_app.figures.pixels import painted, png
from viz_app.figures.scales import marked, weight_scale
from viz_app.figures.style import Axes, Settings, axis, figure, hover

__all__ = ["heads_image", "overview", "overview_summary", "overview_table", "pooled"]

FloatArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]
SMALL_TILE = 24  # cells on a side where a page has many pictures, such as snapshots
GAP = 0.08  # between two tiles, as a share of a tile
# Plotly reports no click on an image. Invisible squares on top report it, and stay invisible when one is selected.
INVISIBLE_SQUARES: Settings = {
    "type": "scatter",
    "mode": "markers",
    "selected": {"marker": {"opacity": 0}},
    "unselected": {"marker": {"opacity": 0}},
    "showlegend": False,
}


def pooled(maps: FloatArray, limit: int = MAX_TILE) -> FloatArray:
    """Shrink maps (L, H, T, S) to at most `limit` cells on a side. A new cell is the maximum of the cells it covers."""
    layers, heads, rows, columns = maps.shape
    row_step, column_step = math.ceil(rows / limit), math.ceil(columns / limit)
    if row_step == column_step == 1:
        return np.asarray(maps, dtype=np.float32)
    padding = [(0, 0), (0, 0), (0, -rows % row_step), (0, -columns % column_step)]
    padded = np.pad(maps, padding, constant_values=0.0)
    blocks = padded.reshape(layers, heads, -1, row_step, padded.shape[3] // column_step, column_step)
    return np.asarray(blocks.max(axis=(3, 5)), dtype=np.float32)


def gaps(rows: int, columns: int) -> tuple[int, int]:
    """The cells between two tiles of this size: below and beside."""
    return max(1, round(rows * GAP)), max(1, round(columns * GAP))


def heads_image(
    maps: FloatArray,
    allowed: BoolArray,
    *,
    cells: int = SMALL_TILE,
    largest: float = 1.0,
    logarithmic: bool = False,
) -> str:
    """Paint all heads as a PNG in a data URI; every tile has its gap below and on the right.

    Args:
        maps: (L, H, T, S), from 0 to `largest`.
        allowed: (L, T, S), False where masked; such cells are grey. Cells that are not finite have a colour too.
        cells: The most cells on a side of a tile, see `pooled`.
        largest: Upper end of the colour scale.
        logarithmic: Use a logarithmic colour scale.
    """
    tiles = pooled(maps, cells)  # (L, H, t, s)
    masked = np.broadcast_to(pooled(allowed[:, None].astype(np.float32), cells) == 0, tiles.shape)
    layers, heads, rows, columns = tiles.shape
    below, beside = gaps(rows, columns)
    padding = [(0, 0), (0, 0), (0, below), (0, beside)]
    shape = layers * (rows + below), heads * (columns + beside)
    numbers = np.pad(tiles, padding, constant_values=np.nan).transpose(0, 2, 1, 3).reshape(shape)
    grey = np.pad(masked, padding).transpose(0, 2, 1, 3).reshape(shape)
    broken = np.pad(~np.isfinite(tiles) & ~masked, padding).transpose(0, 2, 1, 3).reshape(shape)
    scale = weight_scale(numbers, largest=largest, logarithmic=logarithmic)
    return png(painted(scale["z"], low=scale["zmin"], high=scale["zmax"], masked=grey, broken=broken))


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
    """Draw every layer and head. The point of each tile has (layer, head) as its `customdata`.

    Args:
        maps: (L, H, T, S), rows are queries.
        axes: Names of the rows and columns of each tile, for the hover.
        allowed: (L, T, S), False where masked; such cells are grey.
        chosen: The framed layer and head, counted from 0. None frames all heads of the layer.
        height: Pixels.
        largest: Upper end of the colour scale.
        logarithmic: Use a logarithmic colour scale.
    """
    layers, heads, rows, columns = maps.shape[:2] + pooled(maps[:1, :1]).shape[2:]
    below, beside = gaps(rows, columns)
    image = heads_image(maps, allowed, cells=MAX_TILE, largest=largest, logarithmic=logarithmic)
    centres_y = [layer * (rows + below) + (rows - 1) / 2 for layer in range(layers)]
    centres_x = [head * (columns + beside) + (columns - 1) / 2 for head in range(heads)]
    bottom, right = layers * (rows + below) - 0.5, heads * (columns + beside) - 0.5
    layer, head = chosen
    first, last = (0, heads - 1) if head is None else (head, head)
    drawn = figure(
        [
            {"type": "image", "source": image, "hoverinfo": "skip"},
            tile_squares(centres_x, centres_y, axes, height=height),
        ],
        numbered_axis(t("head"), centres_x, range=[-0.5 - beside, right], side="bottom"),
        numbered_axis(t("layer"), centres_y, range=[bottom, -0.5 - below], scaleanchor=False),
        height=height,
        margin={"l": 52, "b": 56},
        shapes=[tile_frame(layer, first, last, size=(rows, columns))],
        hovermode="closest",
        hoverdistance=60,
    )
    if not np.isfinite(np.where(allowed[:, None], maps, 0)).all():
        add_legend(drawn)
    return Picture(figure=drawn, table=partial(overview_table, maps), summary=overview_summary(maps))


def overview_table(maps: FloatArray) -> pd.DataFrame:
    """List how sharp each head is: the largest weight of a row, averaged over the rows of (L, H, T, S)."""
    layers, heads = (range(1, count + 1) for count in maps.shape[:2])
    columns = [t("head {head}", head=i) for i in heads]
    return pd.DataFrame(worded_cells(sharpness(maps)), index=pd.Index(layers, name=t("layer")), columns=columns)


def overview_summary(maps: FloatArray) -> str:
    """Name the sharpest and the least sharp head of (L, H, T, S)."""
    values = sharpness(maps)

    def place(index: np.intp) -> str:
        layer, head = divmod(int(index), values.shape[1])
        name = t("layer {layer} · head {head}", layer=layer + 1, head=head + 1)
        return f"{name} ({values[layer, head]:.3g})"

    finite = np.where(np.isfinite(values), values, np.nan)
    if np.isnan(finite).all():
        return t("There are no numbers here.")
    highest, lowest = place(np.nanargmax(finite)), place(np.nanargmin(finite))
    return t(
        "Mean of the largest weight of each row: highest in {highest}, lowest in {lowest}.",
        highest=highest,
        lowest=lowest,
    )


def sharpness(maps: FloatArray) -> FloatArray:
    """The largest weight of a row, averaged over the rows of (L, H, T, S): (L, H); infinite where it is no number."""
    return marked(maps.max(axis=-1).mean(axis=-1))


def tile_squares(centres_x: Sequence[float], centres_y: Sequence[float], axes: Axes, *, height: int) -> Settings:
    """An invisible square on each tile, with (layer, head) as its `customdata`."""
    tiles = [(layer, head) for layer in range(len(centres_y)) for head in range(len(centres_x))]
    return {
        **INVISIBLE_SQUARES,
        "x": [centres_x[head] for _, head in tiles],
        "y": [centres_y[layer] for layer, _ in tiles],
        # A list, because the browser returns a binary array as separate numbers.
        "customdata": [[layer, head] for layer, head in tiles],
        "marker": {"symbol": "square", "size": max(4, min(46, height // len(centres_y) - 6)), "opacity": 0},
        "text": [t("layer {layer} · head {head}", layer=layer + 1, head=head + 1) for layer, head in tiles],
        "hovertemplate": hover(
            "%{text}",
            t("rows: {title}", title=axes.query_title),
            t("columns: {title}", title=axes.key_title),
            t("choose to open"),
        ),
    }


def tile_frame(layer: int, first: int, last: int, *, size: tuple[int, int]) -> Settings:
    """A frame around the tiles of one layer, from the head `first` to the head `last`, all counted from 0.

    Args:
        layer: The layer.
        first: The first head.
        last: The last head.
        size: Rows and columns of a tile.
    """
    rows, columns = size
    below, beside = gaps(rows, columns)
    return {
        "type": "rect",
        "x0": first * (columns + beside) - 0.5 - beside / 2,
        "x1": last * (columns + beside) + columns - 0.5 + beside / 2,
        "y0": layer * (rows + below) - 0.5 - below / 2,
        "y1": layer * (rows + below) + rows - 0.5 + below / 2,
        "line": {"color": ACCENT, "width": 3},
    }


def numbered_axis(title: str, centres: list[float], **settings: object) -> Settings:
    """An axis whose labels count from 1."""
    labels = [str(i + 1) for i in range(len(centres))]
    return axis(title, tickvals=centres, ticktext=labels, ticks="", automargin=False, **settings)

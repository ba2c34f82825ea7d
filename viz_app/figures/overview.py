"""Every layer and head as one picture of small maps: layers down, heads across."""

import base64
import io
import math

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from PIL import Image
from plotly.colors import hex_to_rgb

from viz_app.content.shared import MAX_TILE
from viz_app.content.translation import t
from viz_app.figures.colours import LEVELS, MASKED, NOT_A_NUMBER, palette
from viz_app.figures.picture import worded_cells
from viz_app.figures.style import FloatArray, marked

__all__ = ["heads_image", "overview_summary", "overview_table", "pooled"]

SMALL_TILE = 24  # cells on a side where a page has many pictures, such as snapshots
GAP = 0.08  # between two tiles, as a share of a tile
CLEAR, BROKEN, GREY = LEVELS - 3, LEVELS - 2, LEVELS - 1  # the pixels that are no number on the colour scale


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


def heads_image(maps: FloatArray, allowed: NDArray[np.bool_]) -> str:
    """Paint all heads as a PNG in a data URI; every tile has a clear gap below and on the right.

    Args:
        maps: (L, H, T, S), from 0 to 1.
        allowed: (L, T, S), False where masked; such cells are grey. Cells that are not finite have a colour too.
    """
    tiles = pooled(maps, SMALL_TILE)  # (L, H, t, s)
    masked = np.broadcast_to(pooled(allowed[:, None].astype(np.float32), SMALL_TILE) == 0, tiles.shape)
    levels = (np.clip(np.nan_to_num(tiles), 0, 1) * (CLEAR - 1)).round()
    levels = np.where(masked, GREY, np.where(np.isfinite(tiles), levels, BROKEN)).astype(np.uint8)
    rows, columns = tiles.shape[2:]
    padding = [(0, 0), (0, 0), (0, max(1, round(rows * GAP))), (0, max(1, round(columns * GAP)))]
    pixels = np.pad(levels, padding, constant_values=CLEAR).transpose(0, 2, 1, 3)  # (L, rows, H, columns)
    image = Image.fromarray(pixels.reshape(pixels.shape[0] * pixels.shape[1], -1), mode="P")
    scale = palette()[np.linspace(0, LEVELS - 1, CLEAR).round().astype(int), :3]
    special = [(0, 0, 0), hex_to_rgb(NOT_A_NUMBER), hex_to_rgb(MASKED)]
    image.putpalette(np.concatenate([scale, special]).astype(np.uint8).tobytes())
    file = io.BytesIO()
    image.save(file, "PNG", transparency=CLEAR, compress_level=1)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"


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

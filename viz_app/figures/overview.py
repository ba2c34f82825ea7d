"""Every layer and head as small maps: their cells, and how sharp each head is."""

import math

import numpy as np
import pandas as pd

from viz_app.content.shared import MAX_TILE
from viz_app.content.translation import t
from viz_app.figures.picture import worded_cells
from viz_app.figures.style import FloatArray, marked

__all__ = ["SMALL_TILE", "overview_summary", "overview_table", "pooled"]

SMALL_TILE = 24  # cells on a side where a page has many pictures, such as snapshots


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

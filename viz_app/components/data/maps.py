"""Attention as maps: one large map, and the grid of all heads."""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from model.config.kinds import KINDS
from viz_app.components.data.encoding import Data, labels_of, levels, masked_out, packed
from viz_app.content.limits import MAX_TILE
from viz_app.content.translation import t
from viz_app.figures.overview import pooled
from viz_app.figures.scales import weight_scale
from viz_app.figures.style import Axes

__all__ = ["ColourRange", "HeadGrid", "LargeMap", "heads_data"]

FloatArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]


@dataclass(frozen=True, kw_only=True)
class ColourRange:
    """The colour scale of weights: from 0 to the largest weight."""

    largest: float = 1.0
    logarithmic: bool = False


@dataclass(frozen=True, kw_only=True)
class LargeMap:
    """One map with its labels, and the exact number of each cell."""

    weights: FloatArray  # (T, S)
    allowed: BoolArray  # (T, S): False where the mask forbids
    axes: Axes
    unit: str  # of the numbers
    colours: ColourRange = field(default_factory=ColourRange)
    title: str  # of the saved picture
    alt: str

    def data(self) -> Data:
        """The data of `attention_map.js`; see `masked_out`."""
        largest, logarithmic = self.colours.largest, self.colours.logarithmic
        return {
            **labels_of(self.axes),
            "weights": packed(masked_out(self.weights, self.allowed)),
            "notes": list(self.axes.query_notes),
            "unit": self.unit,
            "largest": largest,
            "logarithmic": logarithmic,
            "title": self.title,
            "alt": self.alt,
        }


@dataclass(frozen=True, kw_only=True)
class HeadGrid:
    """All layers and heads, small."""

    maps: FloatArray  # (L, H, T, S)
    allowed: BoolArray  # (T, S): False where the mask forbids
    chosen: tuple[int, int | None]  # layer, and head or None for all heads of the layer, counted from 0
    colours: ColourRange = field(default_factory=ColourRange)
    title: str  # of the saved picture
    alt: str

    def data(self) -> Data:
        """The data of `head_grid.js`."""
        tiles = pooled(self.maps, MAX_TILE)  # (L, H, t, s)
        layers, heads, rows, columns = tiles.shape
        masked = np.broadcast_to(pooled(self.allowed[:, None].astype(np.float32), MAX_TILE) == 0, tiles.shape)
        scale = weight_scale(tiles, largest=self.colours.largest, logarithmic=self.colours.logarithmic)
        return {
            "layers": layers,
            "heads": heads,
            "rows": rows,
            "columns": columns,
            "chosen": list(self.chosen),
            "levels": levels(scale["z"], low=scale["zmin"], high=scale["zmax"], masked=masked),
            "broken": bool((~np.isfinite(tiles) & ~masked).any()),
            "title": self.title,
            "alt": self.alt,
        }


def heads_data(maps: FloatArray, axes: Axes, *, kind: str, chosen: int) -> Data:
    """What the views of several heads (L, H, T, S) share, without the numbers."""
    layers, heads = maps.shape[:2]
    return {
        **labels_of(axes),
        "layers": layers,
        "heads": heads,
        "chosen": chosen,
        "alt": t(KINDS[kind].full_name),
    }

"""Attention as maps: one large map, and the grid of all heads."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from viz_app.components.mounting import Data, component, labels_of, levels, masked_out, packed
from viz_app.content.shared import MAX_TILE
from viz_app.figures.overview import pooled
from viz_app.figures.style import Axes, weight_scale

__all__ = ["ColourRange", "HeadGrid", "LargeMap", "OpenHead", "attention_map", "head_grid", "opening"]

FloatArray = NDArray[np.float32]
BoolArray = NDArray[np.bool_]
OpenHead = Callable[[int, int], None]  # called with the layer and the head that were chosen, counted from 0


@dataclass(frozen=True, kw_only=True)
class ColourRange:
    """The colour scale of weights, from 0 to the largest; or of signed numbers, from minus the largest."""

    largest: float = 1.0
    logarithmic: bool = False
    signed: bool = False


@dataclass(frozen=True, kw_only=True)
class LargeMap:
    """One map with its labels, and the exact number of each cell."""

    weights: FloatArray  # (T, S)
    allowed: BoolArray  # (T, S): False where the mask forbids
    axes: Axes
    unit: str  # of the numbers
    colours: ColourRange = field(default_factory=ColourRange)
    least: int = 0  # pixels; a map is higher where the window leaves more
    action: str = ""  # what choosing a cell does; without it, none can be chosen
    title: str  # of the saved picture
    alt: str

    def data(self) -> Data:
        """The data of `live/ui/maps.js`; see `masked_out`."""
        largest, logarithmic = self.colours.largest, self.colours.logarithmic
        return {
            **labels_of(self.axes),
            "weights": packed(masked_out(self.weights, self.allowed)),
            "notes": list(self.axes.query_notes),
            "unit": self.unit,
            "largest": largest,
            "logarithmic": logarithmic,
            "signed": self.colours.signed,
            "least": self.least,
            "action": self.action,
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
        """The data of `live/ui/maps.js`."""
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


def attention_map(large: LargeMap, *, key: str, on_cell: Callable[[int, int], None] | None = None) -> None:
    """Draw one map large; the browser draws it faster than a chart.

    Args:
        large: The map.
        key: Of the component.
        on_cell: Called with the query and the key of the cell that was chosen, counted from 0.
    """

    def chosen(cell: Sequence[int]) -> None:
        if on_cell:
            on_cell(*map(int, cell))

    component("attention_map", "ui/maps", key=key, cell=chosen, data=large.data())


def head_grid(grid: HeadGrid, *, key: str, on_open: OpenHead) -> None:
    """Draw all layers and heads small; each is a button."""
    component("head_grid", "ui/maps", key=key, open=opening(on_open), data=grid.data())


def opening(on_open: OpenHead) -> Callable[[Mapping[str, Any]], None]:
    """What to do with the head that a component reports."""
    return lambda head: on_open(int(head["layer"]), int(head["head"]))

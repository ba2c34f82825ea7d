"""How a heatmap turns numbers into colours: linear, logarithmic, signed or masked, with its colour bar."""

from typing import TypedDict

import numpy as np
from numpy.typing import NDArray

from viz_app.figures.colours import DIVERGING, MASKED
from viz_app.figures.style import TEXT, Settings

__all__ = ["bound_of", "colour_bar", "flat_cells", "marked", "scale_ticks", "signed_scale", "weight_scale"]

FloatArray = NDArray[np.float32]
DECADES = 4  # of a logarithmic scale


class Scale(TypedDict):
    """The numbers of a heatmap and the ends of its colour scale."""

    z: FloatArray
    zmin: float
    zmax: float


def weight_scale(weights: FloatArray, *, largest: float, logarithmic: bool) -> Scale:
    """Colour weights on a linear or logarithmic scale.

    Args:
        weights: (rows, columns), NaN where a cell is empty; cells that are not finite are empty too.
        largest: The upper end, 1 for attention weights.
        logarithmic: Start at 1/10,000 of the largest; smaller weights have the darkest colour.
    """
    weights = np.where(np.isfinite(weights), weights, np.float32("nan"))
    if not logarithmic:
        return {"z": np.ascontiguousarray(weights, dtype=np.float32), "zmin": 0.0, "zmax": largest}
    floor = largest * 10.0**-DECADES
    return {
        "z": np.log10(np.maximum(weights, np.float32(floor))).astype(np.float32),
        "zmin": float(np.log10(floor)),
        "zmax": float(np.log10(largest)),
    }


def signed_scale(values: FloatArray, *, bound: float) -> Settings:
    """Colour signed numbers: red above 0, blue below, white at 0. NaN and infinity leave a cell empty."""
    z = np.where(np.isfinite(values), values, np.nan).astype(np.float32)
    return {"z": z, "zmin": -bound, "zmax": bound, "colorscale": DIVERGING}


def flat_cells(cells: NDArray[np.bool_], colour: str = MASKED) -> Settings:
    """Give some cells (rows, columns) one colour and leave the others clear, for a trace on top of another."""
    z = np.where(cells, np.float32(1), np.float32("nan"))
    return {"z": z, "colorscale": [(0, colour), (1, colour)], "showscale": False}


def marked(numbers: NDArray[np.floating], allowed: NDArray[np.bool_] | None = None) -> FloatArray:
    """Numbers as pictures and tables take them: NaN where a cell is empty, infinite where it is not a number.

    Args:
        numbers: Any shape.
        allowed: The shape of `numbers`, False where a cell is empty, such as masked; by default no cell is.
    """
    known = np.where(np.isfinite(numbers), numbers, np.float32("inf")).astype(np.float32)
    return known if allowed is None else np.where(allowed, known, np.float32("nan"))


def bound_of(values: NDArray[np.floating]) -> float:
    """The end of a symmetric scale: the largest finite number without its sign, or 1."""
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0)) or 1.0


def scale_ticks(*, largest: float, logarithmic: bool) -> list[float]:
    """The numbers beside the colour bar of weights."""
    if not logarithmic:
        return [largest * quarter / 4 for quarter in range(5)]
    return [largest * 10.0**-decade for decade in range(DECADES + 1)]


def colour_bar(title: str, *, largest: float = 1.0, logarithmic: bool = False) -> Settings:
    """The settings of a colour bar; Plotly chooses the ticks of a linear one."""
    bar: Settings = {
        "title": {"text": title, "side": "right", "font": TEXT},
        "tickfont": TEXT,
        "thickness": 12,
        "outlinewidth": 0,
        "len": 1.0,
    }
    if logarithmic:
        values = scale_ticks(largest=largest, logarithmic=True)
        bar["tickvals"] = [float(np.log10(value)) for value in values]
        bar["ticktext"] = [f"{value:.2g}" for value in values]
    return bar

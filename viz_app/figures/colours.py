"""Colours that colour-blind people can tell apart, and how numbers become colours: the same in every picture."""

from collections.abc import Sequence
from functools import cache
from typing import TypedDict

import numpy as np
from numpy.typing import NDArray
from plotly.colors import get_colorscale, hex_to_rgb, unlabel_rgb

from viz_app.figures.style import TEXT, Settings

__all__ = [
    "ACCENT",
    "ALLOWED",
    "DIVERGING",
    "LEVELS",
    "LINES",
    "MASKED",
    "SEQUENTIAL",
    "colour_bar",
    "grey_where",
    "ink",
    "legible",
    "palette",
    "scale_ticks",
    "signed_scale",
    "weight_scale",
]

FloatArray = NDArray[np.float32]

SEQUENTIAL = "Viridis"  # weights, 0 to 1, everywhere
# Signed numbers, 0 in the middle; written out, for the browser's own scale of this name has other colours.
DIVERGING = get_colorscale("RdBu_r")
MASKED = "#8c8c8c"  # forbidden by a mask
ALLOWED = "#56b4e9"  # open in a mask
ACCENT = "#e8590c"  # what is chosen
LINES = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#999999")  # Okabe and Ito 2008
DECADES = 4  # of a logarithmic scale
LEVELS = 256  # of a picture of pixels


class Scale(TypedDict):
    """Settings of a heatmap: its numbers, and the ends of its colour scale."""

    z: FloatArray
    zmin: float
    zmax: float


def weight_scale(weights: FloatArray, *, largest: float, logarithmic: bool) -> Scale:
    """How a heatmap colours weights: their `z` and the ends of the scale, linear or logarithmic.

    Args:
        weights: (rows, columns), NaN where nothing is drawn.
        largest: The upper end, 1 for weights.
        logarithmic: From 1/10,000 of the largest upwards; smaller ones have the darkest colour.
    """
    if not logarithmic:
        return {"z": np.ascontiguousarray(weights, dtype=np.float32), "zmin": 0.0, "zmax": largest}
    floor = largest * 10.0**-DECADES
    return {
        "z": np.log10(np.maximum(weights, np.float32(floor))).astype(np.float32),
        "zmin": float(np.log10(floor)),
        "zmax": float(np.log10(largest)),
    }


def signed_scale(values: FloatArray, *, bound: float) -> Settings:
    """How a heatmap colours signed numbers: red above 0, blue below, white at 0; NaN is left empty."""
    z = np.ascontiguousarray(values, dtype=np.float32)
    return {"z": z, "zmin": -bound, "zmax": bound, "colorscale": DIVERGING}


def grey_where(masked: NDArray[np.bool_]) -> Settings:
    """How a heatmap paints masked cells (rows, columns) grey and leaves the others to the trace below it."""
    z = np.where(masked, np.float32(1), np.float32("nan"))
    return {"z": z, "colorscale": [(0, MASKED), (1, MASKED)], "showscale": False}


def scale_ticks(*, largest: float, logarithmic: bool) -> list[float]:
    """The numbers that a scale of weights names."""
    if not logarithmic:
        return [largest * quarter / 4 for quarter in range(5)]
    return [largest * 10.0**-decade for decade in range(DECADES + 1)]


def colour_bar(title: str, *, largest: float = 1.0, logarithmic: bool = False) -> Settings:
    bar: Settings = {
        **{"title": {"text": title, "side": "right", "font": TEXT}, "tickfont": TEXT},
        **{"thickness": 12, "outlinewidth": 0, "len": 1.0},
    }
    if logarithmic:
        values = scale_ticks(largest=largest, logarithmic=True)
        bar |= {
            "tickvals": [float(np.log10(value)) for value in values],
            "ticktext": [f"{value:.2g}" for value in values],
        }
    return bar


@cache
def palette(*, signed: bool = False) -> NDArray[np.uint8]:
    """The colours of the scale of weights, or of signed numbers, from its lower to its upper end, (LEVELS, 4): red,
    green, blue, opacity.
    """
    shares, colours = zip(*(DIVERGING if signed else get_colorscale(SEQUENTIAL)), strict=True)
    channels = np.array([unlabel_rgb(c) if c.startswith("rgb") else hex_to_rgb(c) for c in colours])  # (N, 3)
    levels = np.linspace(0, 1, LEVELS)
    mixed = np.stack([np.interp(levels, shares, channel) for channel in channels.T], axis=-1).round()
    return np.concatenate([mixed, np.full((LEVELS, 1), 255)], axis=-1).astype(np.uint8)


def ink(background: str) -> str:
    """Black or white, whichever contrasts more with a colour such as "#e69f00" (WCAG 2.2, relative luminance)."""
    red, green, blue = (
        (share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4)
        for share in (channel / 255 for channel in hex_to_rgb(background))
    )
    # Both contrast alike, 4.58:1, where (L + 0.05)² = 1.05 · 0.05.
    return "#000000" if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 else "#ffffff"


@cache
def inks(*, signed: bool) -> Sequence[str]:
    """Black or white for each colour of `palette`."""
    return [ink("#" + bytes(colour[:3]).hex()) for colour in palette(signed=signed)]


def legible(
    texts: Sequence[Sequence[str]], values: FloatArray, *, low: float, high: float, signed: bool = False
) -> list[list[str]]:
    """Texts for the cells of a heatmap, in black or white, whichever can be read on the colour of the cell.

    Args:
        texts: (R, C), as Plotly shows them.
        values: (R, C), NaN where a cell is empty.
        low: Lower end of the colour scale.
        high: Upper end.
        signed: Which scale it is, see `palette`.
    """
    colours = inks(signed=signed)
    shares = np.clip((np.nan_to_num(values, nan=low) - low) / (high - low), 0, 1)
    cells = (shares * (LEVELS - 1)).round().astype(int).tolist()  # R × C
    return [
        [f'<span style="color:{colours[cell]}">{text}</span>' if text else "" for text, cell in zip(*row, strict=True)]
        for row in zip(texts, cells, strict=True)
    ]

"""Many small heatmaps as one picture of pixels: a browser draws it in half the time of a heatmap."""

import base64
import io
from functools import cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from plotly.colors import get_colorscale, hex_to_rgb

from viz_app.figures.style import MASKED, SEQUENTIAL

__all__ = ["painted", "png"]

FloatArray = NDArray[np.float32]
Pixels = NDArray[np.uint8]  # (rows, columns, 4): red, green, blue, opacity
LEVELS = 256


@cache
def palette() -> Pixels:
    """The colours of the scale of weights, from its lower to its upper end, (LEVELS, 4)."""
    stops, colours = zip(*get_colorscale(SEQUENTIAL), strict=True)
    channels = np.array([hex_to_rgb(colour) for colour in colours])  # (N, 3)
    share = np.linspace(0, 1, LEVELS)
    mixed = np.stack([np.interp(share, stops, channel) for channel in channels.T], axis=-1).round()
    return np.concatenate([mixed, np.full((LEVELS, 1), 255)], axis=-1).astype(np.uint8)


def painted(values: FloatArray, *, low: float, high: float, masked: NDArray[np.bool_]) -> Pixels:
    """One pixel a number: the colour of the scale from `low` to `high`, grey where masked, clear where NaN."""
    share = np.clip((np.nan_to_num(values, nan=low) - low) / (high - low), 0, 1)
    pixels = palette()[(share * (LEVELS - 1)).round().astype(np.uint8)]
    pixels[masked] = (*hex_to_rgb(MASKED), 255)
    pixels[np.isnan(values) & ~masked] = 0
    return pixels


def png(pixels: Pixels) -> str:
    """Pixels as a PNG in a data URI."""
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "PNG", compress_level=1)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"

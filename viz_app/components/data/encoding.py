"""How arrays and colours travel to the browser."""

import base64
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from plotly.colors import get_colorscale

from viz_app.figures.colours import MASKED, SEQUENTIAL
from viz_app.figures.style import Axes

__all__ = ["NAN", "Data", "colour_scale", "labels_of", "packed", "with_nan"]

FloatArray = NDArray[np.float32]
NAN = np.float32("nan")
Data = Mapping[str, object]


def packed(array: FloatArray) -> str:
    """Little-endian float32 as base64, row by row."""
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f4").tobytes()).decode("ascii")


def colour_scale() -> Data:
    """The colours of weights: stops at equal distances, and the colour of a masked cell."""
    return {"scale": [colour for _, colour in get_colorscale(SEQUENTIAL)], "masked": MASKED}


def with_nan(maps: FloatArray, allowed: NDArray[np.bool_]) -> FloatArray:
    """Maps (L, H, T, S) with NaN where the mask (L, T, S) forbids."""
    return np.where(allowed[:, None], maps, NAN)


def labels_of(axes: Axes) -> Data:
    """The labels of a map and their languages."""
    return {
        "queries": list(axes.queries),
        "keys": list(axes.keys),
        "query_title": axes.query_title,
        "key_title": axes.key_title,
        "languages": {"query": axes.query_lang, "key": axes.key_lang},
    }

"""How arrays travel to the browser."""

import base64
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from viz_app.figures.style import Axes

__all__ = ["NAN", "Data", "labels_of", "levels", "packed", "with_nan"]

FloatArray = NDArray[np.float32]
NAN = np.float32("nan")
MASKED = 255  # the level of a masked cell
Data = Mapping[str, object]


def packed(array: FloatArray) -> str:
    """Little-endian float32 as base64, row by row."""
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f4").tobytes()).decode("ascii")


def levels(values: FloatArray, *, low: float, high: float, masked: NDArray[np.bool_]) -> str:
    """A byte for each number, as base64, row by row: 0 to 254 on a colour scale, 255 where masked (`pixels.js`).

    Args:
        values: Any shape; ignored where masked.
        low: Lower end of the colour scale.
        high: Upper end of the colour scale.
        masked: The shape of `values`.
    """
    shares = np.clip((np.where(masked, low, values) - low) / (high - low), 0, 1)
    found = np.where(masked, MASKED, (shares * (MASKED - 1)).round()).astype(np.uint8)
    return base64.b64encode(np.ascontiguousarray(found).tobytes()).decode("ascii")


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

"""How arrays travel to the browser."""

import base64
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from viz_app.figures.style import Axes

__all__ = ["MASKED", "Data", "labels_of", "levels", "masked_out", "packed"]

FloatArray = NDArray[np.float32]
MASKED = np.float32("-inf")  # how a masked cell travels; NaN is not a number
MASKED_LEVEL, BROKEN_LEVEL = 255, 254  # the levels of a masked cell, and of one that is not a number
Data = Mapping[str, object]


def packed(array: FloatArray) -> str:
    """Little-endian float32 as base64, row by row."""
    return base64.b64encode(np.ascontiguousarray(array, dtype="<f4").tobytes()).decode("ascii")


def levels(values: FloatArray, *, low: float, high: float, masked: NDArray[np.bool_]) -> str:
    """A byte for each number, as base64, row by row (`live/ui/numbers.js`).

    0 to 253 is a place on a colour scale, 254 is not a number, and 255 is masked.

    Args:
        values: Any shape; ignored where masked. NaN and infinity are not numbers.
        low: Lower end of the colour scale.
        high: Upper end of the colour scale.
        masked: The shape of `values`.
    """
    known = np.isfinite(values) & ~masked
    shares = np.clip((np.where(known, values, low) - low) / (high - low), 0, 1)
    special = np.where(masked, MASKED_LEVEL, BROKEN_LEVEL)
    found = np.where(known, (shares * (BROKEN_LEVEL - 1)).round(), special).astype(np.uint8)
    return base64.b64encode(np.ascontiguousarray(found).tobytes()).decode("ascii")


def masked_out(maps: FloatArray, allowed: NDArray[np.bool_]) -> FloatArray:
    """Maps (…, T, S) with −∞ where the mask (…, T, S) forbids, and NaN where they are not finite."""
    return np.where(allowed, np.where(np.isfinite(maps), maps, np.float32("nan")), MASKED)


def labels_of(axes: Axes) -> Data:
    """The labels of a map and their languages."""
    return {
        "queries": list(axes.queries),
        "keys": list(axes.keys),
        "query_title": axes.query_title,
        "key_title": axes.key_title,
        "languages": {"query": axes.query_lang, "key": axes.key_lang},
    }

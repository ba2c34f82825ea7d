"""Every head of a model as one picture of pixels, without axes."""

import numpy as np
from numpy.typing import NDArray

from viz_app.figures.attention import pooled
from viz_app.figures.colours import weight_scale
from viz_app.figures.pixels import painted, png

__all__ = ["sheet_of_heads"]

SMALL = 24  # cells a side of a head where there are many pictures, such as snapshots
GAP = 0.08  # between two heads, as a share of one


def sheet_of_heads(
    maps: NDArray[np.float32],
    allowed: NDArray[np.bool_],
    *,
    cells: int = SMALL,
    largest: float = 1.0,
    logarithmic: bool = False,
) -> str:
    """Draw all heads as a PNG in a data URI: layers down, heads across, each with its gap in a field of equal size.

    Args:
        maps: (L, H, T, S), from 0 to `largest`.
        allowed: (L, T, S), False where the mask forbids; such cells are grey.
        cells: The most cells on a side of a head; each then is the largest of those it covers.
        largest: Upper end of the colour scale.
        logarithmic: The colour scale.
    """
    small = pooled(maps, cells)  # (L, H, t, s)
    closed = pooled(allowed[:, None].astype(np.float32), cells) == 0
    layers, heads, rows, columns = small.shape
    below, beside = max(1, round(GAP * rows)), max(1, round(GAP * columns))
    field = [(0, 0), (0, 0), (0, below), (0, beside)]
    fields = np.pad(small, field, constant_values=np.nan).transpose(0, 2, 1, 3)
    masked = np.pad(np.broadcast_to(closed, small.shape), field).transpose(0, 2, 1, 3)
    shape = layers * (rows + below), heads * (columns + beside)
    scale = weight_scale(fields.reshape(shape), largest=largest, logarithmic=logarithmic)
    return png(painted(scale["z"], low=scale["zmin"], high=scale["zmax"], masked=masked.reshape(shape)))

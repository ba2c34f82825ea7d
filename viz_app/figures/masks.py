"""A mask, and scores before and after it is added."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from viz_app.figures.colours import ALLOWED, MASKED, ink
from viz_app.figures.picture import Picture, map_picture, map_table
from viz_app.figures.scales import colour_bar, masked_cells, signed_scale
from viz_app.figures.style import Axes, label_settings, map_figure

__all__ = ["mask_map", "score_map"]

FloatArray = NDArray[np.float32]
MAX_SIGNS = 400  # cells; a sign does not fit into smaller cells
MAX_WORDS = 4096  # cells; the hover of a larger mask shows 0 or 1 instead of a word


def mask_map(mask: NDArray[np.bool_], axes: Axes, *, height: int) -> Picture:
    """Draw a mask (T, S): blue where True (may attend), grey with a × where False (masked)."""
    words = {"customdata": np.where(mask, "may attend", "masked").tolist()} if mask.size <= MAX_WORDS else {}
    # A reader who cannot tell the colours apart needs a sign.
    signs = {"text": np.where(mask, "", "×").tolist(), "texttemplate": "%{text}"} if mask.size <= MAX_SIGNS else {}
    meaning = "%{customdata}" if words else "%{z} (1 = may attend, 0 = masked)"
    trace = {
        "type": "heatmap",
        **label_settings(axes),
        **words,
        **signs,
        "textfont": {"size": 14, "color": ink(MASKED)},
        "z": mask.astype(np.uint8),
        "zmin": 0,
        "zmax": 1,
        "colorscale": [(0, MASKED), (0.5, MASKED), (0.5, ALLOWED), (1, ALLOWED)],
        "showscale": False,
        "xgap": 1,
        "ygap": 1,
        "hovertemplate": f"row: %{{y}}<br>column: %{{x}}<br>{meaning}<extra></extra>",
    }
    return Picture(
        figure=map_figure([trace], axes, height=height),
        table=partial(map_table, mask.astype(np.float32), axes),
        summary=f"{mask.sum():,} of {mask.size:,} cells may attend; the others are masked.",
    )


def score_map(scores: FloatArray, axes: Axes, *, bound: float, height: int) -> Picture:
    """Draw scores; −∞, a masked cell, is grey.

    Args:
        scores: (T, S), before the softmax.
        axes: Names of the rows and columns.
        bound: Ends of the colour scale, equal in pictures that are compared.
        height: Pixels.
    """
    allowed = np.isfinite(scores)
    finite = np.where(allowed, scores, np.float32("nan"))
    cells = {"type": "heatmap", **label_settings(axes), "hoverongaps": False}
    traces = [
        {
            **cells,
            **signed_scale(finite, bound=bound),
            "colorbar": colour_bar("score"),
            "hovertemplate": "query: %{y}<br>key: %{x}<br>score: %{z:.4f}<extra></extra>",
        }
    ]
    if not allowed.all():
        hover = "query: %{y}<br>key: %{x}<br>score: −∞ (masked)<extra></extra>"
        traces.append({**cells, **masked_cells(~allowed), "hovertemplate": hover})
    return map_picture(map_figure(traces, axes, height=height), finite, axes, unit="score", signed=True)

"""Masks as pictures, and scores on their way through one."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from viz_app.figures.colours import ALLOWED, MASKED, colour_bar, grey_where, ink, signed_scale
from viz_app.figures.picture import Picture, map_picture, map_table
from viz_app.figures.style import Axes, label_settings, map_figure

__all__ = ["mask_map", "score_map"]

FloatArray = NDArray[np.float32]
MAX_SIGNS = 400  # cells; smaller ones have no room for a sign
MAX_WORDS = 4096  # cells; the hover of a larger mask names its number instead of a word


def mask_map(mask: NDArray[np.bool_], axes: Axes, *, height: int) -> Picture:
    """Draw a mask (T, S): blue = may attend, grey = masked."""
    words = {"customdata": np.where(mask, "may attend", "masked").tolist()} if mask.size <= MAX_WORDS else {}
    # A sign besides the colour.
    signs = {"text": np.where(mask, "", "×").tolist(), "texttemplate": "%{text}"} if mask.size <= MAX_SIGNS else {}
    meaning = "%{customdata}" if words else "%{z}, where 1 = may attend and 0 = masked"
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
        summary=f"{mask.sum()} of {mask.size} cells may attend; the others are masked.",
    )


def score_map(scores: FloatArray, axes: Axes, *, bound: float, height: int) -> Picture:
    """Draw scores (T, S); minus infinity, where the mask forbids, is grey.

    Args:
        scores: Before the softmax.
        axes: Labels.
        bound: Ends of the colour scale, the same for pictures to be compared.
        height: Pixels.
    """
    allowed = np.isfinite(scores)
    finite = np.where(allowed, scores, np.float32("nan"))
    place = {"type": "heatmap", **label_settings(axes), "hoverongaps": False}
    traces = [
        {
            **place,
            **signed_scale(finite, bound=bound),
            "colorbar": colour_bar("score"),
            "hovertemplate": "query: %{y}<br>key: %{x}<br>score: %{z:.4f}<extra></extra>",
        }
    ]
    if not allowed.all():
        hover = "query: %{y}<br>key: %{x}<br>score: −∞<extra></extra>"
        traces.append({**place, **grey_where(~allowed), "hovertemplate": hover})
    return map_picture(map_figure(traces, axes, height=height), finite, axes, unit="score", signed=True)

"""A mask, and scores before and after it is added."""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from viz_app.content.numbers import decimal
from viz_app.content.translation import t
from viz_app.figures.colours import ALLOWED, MASKED, ink
from viz_app.figures.picture import Picture, map_picture, map_table
from viz_app.figures.scales import colour_bar, flat_cells, marked, signed_scale
from viz_app.figures.style import Axes, cell_lines, hover, label_settings, map_figure

__all__ = ["mask_map", "score_map"]

FloatArray = NDArray[np.float32]
MAX_SIGNS = 400  # cells; a sign does not fit into smaller cells
MAX_WORDS = 4096  # cells; the hover of a larger mask shows 0 or 1 instead of a word


def mask_map(mask: NDArray[np.bool_], axes: Axes, *, height: int) -> Picture:
    """Draw a mask (T, S): blue where True (may attend), grey with a × where False (masked)."""
    words = {"customdata": np.where(mask, t("may attend"), t("masked")).tolist()} if mask.size <= MAX_WORDS else {}
    # A reader who cannot tell the colours apart needs a sign.
    signs = {"text": np.where(mask, "", "×").tolist(), "texttemplate": "%{text}"} if mask.size <= MAX_SIGNS else {}
    meaning = "%{customdata}" if words else t("{number} (1 = may attend, 0 = masked)", number="%{z}")
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
        "hovertemplate": hover(t("row: {token}", token="%{y}"), t("column: {token}", token="%{x}"), meaning),
    }
    return Picture(
        figure=map_figure([trace], axes, height=height),
        table=partial(map_table, mask.astype(np.float32), axes),
        summary=t(
            "{n} of {all} cells may attend; the others are masked.",
            n=decimal(int(mask.sum())),
            all=decimal(mask.size),
        ),
    )


def score_map(scores: FloatArray, axes: Axes, *, bound: float, height: int) -> Picture:
    """Draw scores; −∞, a masked cell, is grey.

    Args:
        scores: (T, S), before the softmax.
        axes: Names of the rows and columns.
        bound: Ends of the colour scale, equal in pictures that are compared.
        height: Pixels.
    """
    allowed = ~np.isneginf(scores)
    numbers = marked(scores, allowed)
    cells = {"type": "heatmap", **label_settings(axes), "hoverongaps": False}
    traces = [
        {
            **cells,
            **signed_scale(numbers, bound=bound),
            "colorbar": colour_bar(t("score")),
            "hovertemplate": hover(*cell_lines(), t("score: {number}", number="%{z:.4f}")),
        }
    ]
    if not allowed.all():
        facts = hover(*cell_lines(), t("score: −∞ (masked)"))
        traces.append({**cells, **flat_cells(~allowed), "hovertemplate": facts})
    return map_picture(map_figure(traces, axes, height=height), numbers, axes, unit=t("score"), signed=True)

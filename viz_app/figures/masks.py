"""Masks as pictures, and scores on their way through one."""

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz_app.figures.style import DIVERGING, MASKED, Axes, colour_bar, label_axes, masked_cells, unique_labels

__all__ = ["mask_map", "score_map"]

FloatArray = NDArray[np.float32]
ALLOWED = "#56b4e9"


def mask_map(mask: NDArray[np.bool_], axes: Axes, *, height: int) -> go.Figure:
    """Draw a mask (T, S): blue = may attend, grey = masked."""
    figure = go.Figure(
        go.Heatmap(
            z=mask.astype(np.uint8),
            x=unique_labels(axes.keys),
            y=unique_labels(axes.queries),
            text=np.where(mask, "may attend", "masked") if mask.size <= 4096 else None,
            zmin=0,
            zmax=1,
            colorscale=[[0, MASKED], [0.5, MASKED], [0.5, ALLOWED], [1, ALLOWED]],
            showscale=False,
            xgap=1,
            ygap=1,
            hovertemplate="row: %{y}<br>column: %{x}<br>%{text}<extra></extra>",
        )
    )
    return label_axes(figure, axes, height=height)


def score_map(scores: FloatArray, axes: Axes, *, bound: float, height: int) -> go.Figure:
    """Draw scores (T, S); minus infinity, where the mask forbids, is grey.

    Args:
        scores: Before the softmax.
        axes: Labels.
        bound: Ends of the colour scale, the same for pictures to be compared.
        height: Pixels.
    """
    allowed = np.isfinite(scores)
    place = {"x": unique_labels(axes.keys), "y": unique_labels(axes.queries), "xgap": 1, "ygap": 1}
    figure = go.Figure(
        go.Heatmap(
            z=np.where(allowed, scores, np.float32("nan")).astype(np.float32),
            zmin=-bound,
            zmax=bound,
            colorscale=DIVERGING,
            colorbar=colour_bar("score"),
            hoverongaps=False,
            hovertemplate="query: %{y}<br>key: %{x}<br>score: %{z:.4f}<extra></extra>",
            **place,
        )
    )
    if not allowed.all():
        hover = "query: %{y}<br>key: %{x}<br>score: −∞<extra></extra>"
        figure.add_trace(masked_cells(~allowed, hovertemplate=hover, **place))
    return label_axes(figure, axes, height=height)

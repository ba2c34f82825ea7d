"""Masks as pictures, and scores on their way through one."""

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz_app.figures.style import DIVERGING, MASKED, SEQUENTIAL, Axes, colour_bar, finish, label_axes, unique_labels

__all__ = ["mask_map", "score_map", "weight_map"]

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
    label_axes(figure, axes)
    return finish(figure, height=height)


def score_map(scores: FloatArray, axes: Axes, *, bound: float, height: int) -> go.Figure:
    """Draw scores (T, S); minus infinity, where the mask forbids, is grey.

    Args:
        scores: Before the softmax.
        axes: Labels.
        bound: Ends of the colour scale, the same for pictures to be compared.
        height: Pixels.
    """
    scale = {"zmin": -bound, "zmax": bound, "colorscale": DIVERGING, "colorbar": colour_bar("score")}
    return masked_heatmap(scores, np.isfinite(scores), axes, "score: %{z:.4f}", "−∞", scale, height)


def weight_map(weights: FloatArray, mask: NDArray[np.bool_], axes: Axes, *, height: int) -> go.Figure:
    """Draw weights (T, S) after the softmax; what the mask (T, S) forbade is grey."""
    scale = {"zmin": 0, "zmax": 1, "colorscale": SEQUENTIAL, "colorbar": colour_bar("attention weight")}
    return masked_heatmap(weights, mask, axes, "weight: %{z:.6f}", "masked: weight exactly 0", scale, height)


def masked_heatmap(
    values: FloatArray,
    mask: NDArray[np.bool_],
    axes: Axes,
    hover: str,
    masked_hover: str,
    scale: dict[str, object],
    height: int,
) -> go.Figure:
    labels = {"x": unique_labels(axes.keys), "y": unique_labels(axes.queries), "xgap": 1, "ygap": 1}
    grey = {"colorscale": [[0, MASKED], [1, MASKED]], "showscale": False}
    where = "query: %{y}<br>key: %{x}<br>"
    figure = go.Figure()
    for cells, numbers, look, text in (
        (~mask, np.ones_like(values), grey, masked_hover),
        (mask, values, scale, hover),
    ):
        figure.add_trace(
            go.Heatmap(
                z=np.where(cells, numbers, np.float32("nan")).astype(np.float32),
                hoverongaps=False,
                hovertemplate=f"{where}{text}<extra></extra>",
                **labels,
                **look,
            )
        )
    label_axes(figure, axes)
    return finish(figure, height=height)

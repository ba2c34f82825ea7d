"""Masks as pictures, and scores on their way through one."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go
from numpy.typing import NDArray

from viz_app.figures.style import DIVERGING, MASKED, SEQUENTIAL, colour_bar, finish, unique_labels

__all__ = ["mask_map", "score_map", "weight_map"]

FloatArray = NDArray[np.float32]
ALLOWED = "#56b4e9"


def mask_map(
    mask: NDArray[np.bool_], *, rows: Sequence[str], columns: Sequence[str], row_axis: str, column_axis: str, height: int
) -> go.Figure:
    """Draw a mask (rows, columns): blue = may attend, grey = forbidden."""
    words = np.where(mask, "may attend", "masked")
    figure = go.Figure(
        go.Heatmap(
            z=mask.astype(np.uint8),
            x=unique_labels(columns),
            y=unique_labels(rows),
            text=words if mask.size <= 4096 else None,
            zmin=0,
            zmax=1,
            colorscale=[[0, MASKED], [0.5, MASKED], [0.5, ALLOWED], [1, ALLOWED]],
            showscale=False,
            xgap=1,
            ygap=1,
            hovertemplate="row: %{y}<br>column: %{x}<br>%{text}<extra></extra>",
        )
    )
    return label_axes(figure, row_axis, column_axis, height, columns)


def score_map(
    scores: FloatArray,
    *,
    queries: Sequence[str],
    keys: Sequence[str],
    query_axis: str,
    key_axis: str,
    bound: float,
    height: int,
) -> go.Figure:
    """Draw scores (T, S); minus infinity, where the mask forbids, is grey.

    Args:
        scores: Before the softmax.
        queries: T labels.
        keys: S labels.
        query_axis: Title of the rows.
        key_axis: Title of the columns.
        bound: Ends of the colour scale, the same for pictures to be compared.
        height: Pixels.
    """
    forbidden = ~np.isfinite(scores)
    figure = go.Figure()
    if forbidden.any():
        figure.add_trace(grey_cells(forbidden, queries, keys, "−∞"))
    figure.add_trace(
        go.Heatmap(
            z=np.where(forbidden, np.nan, scores).astype(np.float32),
            x=unique_labels(keys),
            y=unique_labels(queries),
            zmin=-bound,
            zmax=bound,
            colorscale=DIVERGING,
            colorbar=colour_bar("score"),
            xgap=1,
            ygap=1,
            hoverongaps=False,
            hovertemplate="query: %{y}<br>key: %{x}<br>score: %{z:.4f}<extra></extra>",
        )
    )
    return label_axes(figure, query_axis, key_axis, height, keys)


def weight_map(
    weights: FloatArray,
    mask: NDArray[np.bool_],
    *,
    queries: Sequence[str],
    keys: Sequence[str],
    query_axis: str,
    key_axis: str,
    height: int,
) -> go.Figure:
    """Draw weights (T, S) after the softmax; what the mask (T, S) forbade is grey."""
    figure = go.Figure()
    if not mask.all():
        figure.add_trace(grey_cells(~mask, queries, keys, "masked: weight exactly 0"))
    figure.add_trace(
        go.Heatmap(
            z=np.where(mask, weights, np.nan).astype(np.float32),
            x=unique_labels(keys),
            y=unique_labels(queries),
            zmin=0,
            zmax=1,
            colorscale=SEQUENTIAL,
            colorbar=colour_bar("attention weight"),
            xgap=1,
            ygap=1,
            hoverongaps=False,
            hovertemplate="query: %{y}<br>key: %{x}<br>weight: %{z:.6f}<extra></extra>",
        )
    )
    return label_axes(figure, query_axis, key_axis, height, keys)


def grey_cells(cells: NDArray[np.bool_], rows: Sequence[str], columns: Sequence[str], word: str) -> go.Heatmap:
    return go.Heatmap(
        z=np.where(cells, np.float32(1), np.float32("nan")),
        x=unique_labels(columns),
        y=unique_labels(rows),
        colorscale=[[0, MASKED], [1, MASKED]],
        showscale=False,
        xgap=1,
        ygap=1,
        hoverongaps=False,
        hovertemplate=f"query: %{{y}}<br>key: %{{x}}<br>{word}<extra></extra>",
    )


def label_axes(figure: go.Figure, rows: str, columns: str, height: int, labels: Sequence[str]) -> go.Figure:
    figure.update_xaxes(type="category", title=columns, tickangle=-45 if len(labels) <= 60 else -90)
    figure.update_yaxes(type="category", title=rows, autorange="reversed")
    if len(labels) <= 60:
        figure.update_xaxes(dtick=1)
        figure.update_yaxes(dtick=1)
    return finish(figure, height=height)

"""Training curves: what improved, epoch by epoch."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from viz_app.figures.style import LINES, finish

__all__ = ["curves"]


def curves(x: Sequence[float], series: Mapping[str, Sequence[float]], *, title: str, height: int) -> go.Figure:
    """Draw named series over the training step.

    Args:
        x: Steps.
        series: Name → one value a step.
        title: Of the vertical axis, with its unit.
        height: Pixels.
    """
    figure = go.Figure()
    for colour, (name, values) in zip(LINES, series.items(), strict=False):
        figure.add_trace(
            go.Scatter(x=x, y=values, name=name, mode="lines+markers", line={"color": colour}, marker={"size": 4})
        )
    finish(figure, height=height, top=30)
    figure.update_layout(
        showlegend=len(series) > 1,
        hovermode="x unified",
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 0},
    )
    figure.update_xaxes(title="training step")
    figure.update_yaxes(title=title, showgrid=True, gridcolor="rgba(128,128,128,.25)")
    return figure

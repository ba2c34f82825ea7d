"""Training curves: what improved, epoch by epoch."""

from collections.abc import Mapping, Sequence

import plotly.graph_objects as go

from viz_app.figures.colours import LINES
from viz_app.figures.style import GRID, LEGEND, axis, figure

__all__ = ["curves"]


def curves(
    x: Sequence[float] | Sequence[str],
    series: Mapping[str, Sequence[float]],
    *,
    title: str,
    height: int,
    over: str = "training step",
    span: tuple[float, float] | None = None,
) -> go.Figure:
    """Draw named series over the training step, or over something else.

    Args:
        x: Steps, or names of what there is instead.
        series: Name → one value a step.
        title: Of the vertical axis, with its unit.
        height: Pixels.
        over: Title of the horizontal axis.
        span: Ends of the vertical axis; None: as far as the values go.
    """
    traces = [
        {
            **{"type": "scatter", "x": list(x), "y": list(values), "name": name, "mode": "lines+markers"},
            **{"line": {"color": colour}, "marker": {"size": 4}, "cliponaxis": False},
        }
        for colour, (name, values) in zip(LINES, series.items(), strict=False)
    ]
    return figure(
        traces,
        axis(over),
        axis(title, **GRID, **({"range": list(span)} if span else {})),
        height=height,
        margin={"t": 30},
        showlegend=len(series) > 1,
        legend=LEGEND,
        hovermode="x unified",
    )

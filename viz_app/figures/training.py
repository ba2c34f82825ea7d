"""Training curves: what improved, epoch by epoch."""

from collections.abc import Mapping, Sequence

from viz_app.figures.colours import LINES
from viz_app.figures.picture import Picture, line_picture
from viz_app.figures.style import GRID, LEGEND, axis, figure, shown

__all__ = ["curves"]


def curves(
    x: Sequence[float] | Sequence[str],
    series: Mapping[str, Sequence[float]],
    *,
    title: str,
    height: int,
    over: str = "training step",
    span: tuple[float, float] | None = None,
) -> Picture:
    """Draw named series over the training step, or over something else.

    Args:
        x: Steps, or names of what there is instead.
        series: Name → one value a step.
        title: Of the vertical axis, with its unit.
        height: Pixels.
        over: Title of the horizontal axis.
        span: Ends of the vertical axis; None: as far as the values go.
    """
    points = [shown(one) if isinstance(one, str) else one for one in x]
    traces = [
        {
            **{"type": "scatter", "x": points, "y": list(values), "name": shown(name), "mode": "lines+markers"},
            **{"line": {"color": colour}, "marker": {"size": 4}, "cliponaxis": False},
        }
        for colour, (name, values) in zip(LINES, series.items(), strict=False)
    ]
    drawn = figure(
        traces,
        axis(over),
        axis(title, **GRID, **({"range": list(span)} if span else {})),
        height=height,
        margin={"t": 30},
        showlegend=len(series) > 1,
        legend=LEGEND,
        hovermode="x unified",
    )
    names = [one if isinstance(one, str) else f"{one:.10g}" for one in x]
    return line_picture(drawn, names, series, x_title=over, unit=title)

"""Training curves."""

from collections.abc import Mapping, Sequence
from itertools import cycle

from viz_app.content.translation import t
from viz_app.figures.colours import LINES
from viz_app.figures.labels import escaped_label
from viz_app.figures.picture import Picture, line_picture
from viz_app.figures.style import GRID, LEGEND, axis, figure

__all__ = ["curves"]


def curves(
    x: Sequence[float] | Sequence[str],
    series: Mapping[str, Sequence[float]],
    *,
    title: str,
    height: int,
    over: str = "",
    span: tuple[float, float] | None = None,
) -> Picture:
    """Draw named series as lines.

    Args:
        x: Training steps, or names of other points.
        series: Name → one number for each point.
        title: Title of the vertical axis, with the unit.
        height: Pixels.
        over: Title of the horizontal axis; by default training steps.
        span: Ends of the vertical axis; None fits the numbers.
    """
    over = over or t("training step")
    points = [escaped_label(point) if isinstance(point, str) else point for point in x]
    traces = [
        {
            "type": "scatter",
            "x": points,
            "y": list(values),
            "name": escaped_label(name),
            "mode": "lines+markers",
            "line": {"color": colour},
            "marker": {"size": 4},
            "cliponaxis": False,
        }
        for colour, (name, values) in zip(cycle(LINES), series.items(), strict=False)  # colours never end
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
    names = [point if isinstance(point, str) else f"{point:.10g}" for point in x]
    return line_picture(drawn, names, series, x_title=over, unit=title)

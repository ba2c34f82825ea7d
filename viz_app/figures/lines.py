"""Curves and bars: training, dimensions of an encoding, scores by distance, shares of a whole, answers of a class."""

from collections.abc import Mapping, Sequence
from itertools import cycle
from math import ceil

import numpy as np

from viz_app.content.numbers import decimal, percent
from viz_app.content.translation import N_, t
from viz_app.figures.colours import LINES, ink
from viz_app.figures.labels import broken, escaped_label, text_width, unique_labels, visible_label
from viz_app.figures.picture import Picture, line_picture
from viz_app.figures.style import GRID, LEGEND, SLANTED, TEXT, TITLE, FloatArray, Settings, axis, figure, hover

__all__ = ["answer_bars", "by_distance", "curves", "dimensions", "stacked_shares", "wavelengths"]

LONGEST_NAME = 40  # letters of a line in the legend
WAVELENGTH = N_("wavelength, positions")
DISTANCE = N_("distance from query to key, in tokens (− before, + after)")
FIFTHS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)  # ticks of an axis of shares
MAX_WRITTEN = 24  # bars; narrower bars do not show their numbers
BAR, ENDS = 44, 70  # pixels for one bar with a label of two lines, and for the axis below all
TICKS = 5  # at most, above 0
ROOM = 1.1  # for the number at the end of the longest bar
WIDEST, LONGEST = 300, 80  # of a label: pixels of a line, and letters


def curves(
    x: Sequence[float] | Sequence[str],
    series: Mapping[str, Sequence[float] | FloatArray],
    *,
    title: str,
    height: int,
    over: str = "",
    span: tuple[float, float] | None = None,
    facts: Sequence[str] = (),
    markers: bool = True,
    points: Sequence[str] = (),
    point: str = "",
    logarithmic: bool = False,
) -> Picture:
    """Draw named series as lines. More lines than colours are dashed.

    Args:
        x: Training steps, or numbers or names of other points.
        series: Name → one number for each point.
        title: Title of the vertical axis, with the unit.
        height: Pixels.
        over: Title of the horizontal axis; by default training steps.
        span: Ends of the vertical axis; None fits the numbers.
        facts: The lines beside the pointer about one point; by default they are about all series.
        markers: Mark each point.
        points: Names of the points in the table; by default from `x`.
        point: What the points are in the table; by default the title of their axis.
        logarithmic: The horizontal axis is logarithmic.
    """
    over = over or t("training step")
    traces: list[Settings] = [
        {
            "type": "scatter",
            "x": [escaped_label(one) if isinstance(one, str) else one for one in x],
            "y": np.ascontiguousarray(values, np.float32) if isinstance(values, np.ndarray) else list(values),
            "name": escaped_label(name, limit=LONGEST_NAME),
            "mode": "lines+markers" if markers else "lines",
            "line": {"color": LINES[number % len(LINES)], "dash": "solid" if number < len(LINES) else "dash"},
            "marker": {"size": 4},
            "cliponaxis": False,
            **({"hovertemplate": hover(*facts)} if facts else {}),
        }
        for number, (name, values) in enumerate(series.items())
    ]
    drawn = figure(
        traces,
        axis(over, **(GRID if facts else {}), **({"type": "log", "dtick": 1} if logarithmic else {})),
        axis(title, **GRID, **({"range": list(span)} if span else {})),
        height=height,
        margin={"t": 30},
        showlegend=bool(facts) or len(series) > 1,
        legend=LEGEND,
        **({} if facts else {"hovermode": "x unified"}),
    )
    names = points or [one if isinstance(one, str) else f"{one:.10g}" for one in x]
    return line_picture(drawn, names, series, x_title=point or over, unit=title)


def dimensions(table: FloatArray, names: Mapping[int, str], *, height: int) -> Picture:
    """Draw some dimensions of an encoding (positions, dimensions), with these names, over the position."""
    return curves(
        range(len(table)),
        {name: table[:, dimension] for dimension, name in names.items()},
        title=t("value"),
        height=height,
        over=t("position"),
        facts=[t("position {position}", position="%{x}"), t("value: {number}", number="%{y:.4f}")],
        markers=False,
    )


def by_distance(values: FloatArray, *, unit: str, height: int) -> Picture:
    """Draw one number for each head and distance, (H, 2R + 1), for keys from R tokens before the query to R after."""
    reach = values.shape[1] // 2
    distances = range(-reach, reach + 1)
    return curves(
        distances,
        {t("head {head}", head=head + 1): row for head, row in enumerate(values)},
        title=unit,
        height=height,
        over=t(DISTANCE),
        facts=[t("distance: {n}", n="%{x:+d}"), t("{name}: {value}", name=unit, value="%{y:.3f}")],
        points=[f"{distance:+d}" for distance in distances],
        point=t("distance"),
    )


def wavelengths(lengths: FloatArray, *, longest_text: int, height: int) -> Picture:
    """Draw the wavelength of each pair of dimensions on a logarithmic scale, with the longest text of the model.

    Args:
        lengths: (D / 2,), in positions.
        longest_text: Tokens.
        height: Pixels.
    """
    wave: Settings = {
        "type": "scatter",
        "x": np.arange(len(lengths), dtype=np.float32) * 2,
        "y": np.asarray(lengths, dtype=np.float32),
        "mode": "lines",
        "line": {"color": LINES[0], "width": 3},
        "hovertemplate": hover(
            t("dimension {dimension} and the next one", dimension="%{x}"),
            t("repeat after {number} positions", number="%{y:.4g}"),
        ),
    }
    ends = {"xref": "paper", "x0": 0, "x1": 1, "y0": longest_text, "y1": longest_text}
    limit: Settings = {"type": "line", **ends, "line": {"color": LINES[1], "dash": "dash"}}
    note: Settings = {
        "x": 1,
        "xref": "paper",
        "xanchor": "right",
        "y": float(np.log10(longest_text)),
        "yanchor": "top",
        "text": t("longest text of this model: {n} tokens", n=decimal(longest_text)),
        "showarrow": False,
        "font": TEXT,
    }
    # Only powers of ten have a label, because the labels between them would overlap.
    unit, title = t(WAVELENGTH), t("dimension")
    y = axis(unit, type="log", dtick=1, **GRID)
    drawn = figure([wave], axis(title), y, height=height, shapes=[limit], annotations=[note])
    names = [str(2 * pair) for pair in range(len(lengths))]
    return line_picture(drawn, names, {t("wavelength"): lengths}, x_title=title, unit=unit)


def stacked_shares(series: Mapping[str, Sequence[float]], labels: Sequence[str], *, title: str, height: int) -> Picture:
    """Draw the shares of a whole as one stacked bar for each label.

    Args:
        series: Name → one share for each label. The shares of a label add up to 1.
        labels: Names of the bars.
        title: Title of the horizontal axis.
        height: Pixels.
    """
    unit = t("share")
    x, with_numbers = unique_labels(labels), len(labels) <= MAX_WRITTEN
    traces: list[Settings] = [
        {
            "type": "bar",
            "x": x,
            "y": list(shares),
            "name": name,
            "marker": {"color": colour},
            "text": [percent(share, digits=0) if with_numbers and share >= 0.1 else "" for share in shares],
            "textposition": "inside",
            "textangle": 0,
            "textfont": {"size": 14, "color": ink(colour)},
            "customdata": [percent(share) for share in shares],
            "hovertemplate": hover("%{x}", t("{name}: {value}", name=name, value="%{customdata}")),
        }
        for colour, (name, shares) in zip(cycle(LINES), series.items(), strict=False)  # colours never end
    ]
    ticks = [percent(share, digits=0) for share in FIFTHS]
    drawn = figure(
        traces,
        axis(title, type="category", automargin=False, tickangle=-45),
        axis(unit, range=[0, 1], tickvals=FIFTHS, ticktext=ticks, **GRID),
        height=height,
        margin={"t": 34, "l": 64, "b": below(labels)},
        barmode="stack",
        uniformtext={"minsize": 14, "mode": "hide"},  # a small bar shows no number instead of a tiny one
        showlegend=True,
        legend={**LEGEND, "traceorder": "normal"},
    )
    return line_picture(drawn, labels, series, x_title=title, unit=unit, written=percent)


def below(labels: Sequence[str]) -> float:
    """Pixels for slanted labels and the title of their axis."""
    return TITLE + SLANTED * text_width([escaped_label(label) for label in labels])


def answer_bars(answers: Sequence[str], counts: Sequence[int]) -> Picture:
    """Draw one bar for each answer of a class.

    Args:
        answers: Their texts, the first one on top.
        counts: How many members gave each answer.
    """
    labels, unit, most = [in_lines(answer) for answer in answers], t("students who answered"), max([1, *counts])
    trace: Settings = {
        "type": "bar",
        "orientation": "h",
        "x": list(counts),
        "y": labels,
        "text": [str(count) for count in counts],
        "textposition": "outside",
        "textfont": TEXT,
        "cliponaxis": False,
        "marker": {"color": LINES[0]},
        "hovertemplate": hover("%{y}", "%{x}"),
    }
    drawn = figure(
        [trace],
        axis(unit, range=[0, most * ROOM], tick0=0, dtick=ceil(most / TICKS), tickangle=0, **GRID),
        axis("", type="category", autorange="reversed", dtick=1, tickangle=0),
        height=BAR * len(answers) + ENDS,
    )
    return line_picture(drawn, answers, {unit: counts}, x_title=t("answer"), unit=unit)


def in_lines(answer: str) -> str:
    lines = broken(visible_label(answer, limit=LONGEST), WIDEST).split("<br>")
    return "<br>".join(escaped_label(line, limit=LONGEST) for line in lines)

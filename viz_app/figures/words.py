"""A grid of words, coloured by probability, and shares as stacked bars."""

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import cycle

import numpy as np
from numpy.typing import NDArray

from viz_app.content.numbers import percent
from viz_app.content.translation import t
from viz_app.figures.colours import LINES, SEQUENTIAL, ink, legible
from viz_app.figures.labels import escaped_label, text_width, unique_labels
from viz_app.figures.picture import Picture, line_picture, map_summary, map_table
from viz_app.figures.scales import colour_bar
from viz_app.figures.style import COLOUR_BAR, GRID, LEGEND, SLANTED, TITLE, Axes, Settings, axis, figure, hover

__all__ = ["stacked_shares", "word_grid"]

FloatArray = NDArray[np.float32]
MAX_CHARACTERS = 12  # of a word in a cell; the hover has the whole word
FIFTHS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)  # ticks of an axis of shares
MAX_WRITTEN = 24  # bars; narrower bars do not show their numbers


def word_grid(
    words: Sequence[Sequence[str]],
    probabilities: FloatArray,
    *,
    rows: Sequence[str],
    columns: Sequence[str],
    row_title: str,
    column_title: str,
    notes: Sequence[Sequence[str]],
    height: int,
) -> Picture:
    """Draw one word in each cell, on the colour of its probability.

    Args:
        words: (R, C).
        probabilities: (R, C).
        rows: Names of the rows, from the top.
        columns: Names of the columns.
        row_title: What the rows are.
        column_title: What the columns are.
        notes: (R, C), texts for the hover and the table.
        height: Pixels.
    """
    limit = max(4, min(MAX_CHARACTERS, round(100 / len(columns))))  # the picture is about 1,000 pixels wide
    unit = t("probability")
    texts = [[escaped_label(word, limit=limit) for word in row] for row in words]
    trace = {
        "type": "heatmap",
        "z": np.ascontiguousarray(probabilities, dtype=np.float32),
        "x": unique_labels(columns),
        "y": list(rows),
        "text": legible(texts, probabilities, low=0.0, high=1.0),
        "texttemplate": "%{text}",
        "textfont": {"size": 14},
        "customdata": [[escaped_label(note, limit=120) for note in row] for row in notes],
        "zmin": 0.0,
        "zmax": 1.0,
        "colorscale": SEQUENTIAL,
        "colorbar": colour_bar(unit),
        "xgap": 2,
        "ygap": 2,
        "hovertemplate": hover("%{y}", "%{customdata}"),
    }
    named = {"type": "category", "automargin": False}
    drawn = figure(
        [trace],
        axis(column_title, tickangle=-45, **named),
        axis(row_title, autorange="reversed", **named),
        height=height,
        margin={"l": TITLE + text_width(rows), "r": COLOUR_BAR, "b": below(columns)},
    )
    axes = Axes(queries=rows, keys=columns, query_title=row_title, key_title=column_title)
    return Picture(
        figure=drawn,
        table=partial(map_table, probabilities, axes, cells=notes),
        summary=map_summary(probabilities, axes, unit=unit),
    )


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

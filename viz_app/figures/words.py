"""Pictures made of words: a grid of them shaded by probability, and shares of each as stacked bars."""

from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from viz_app.figures.colours import LINES, SEQUENTIAL, colour_bar, ink, legible
from viz_app.figures.picture import Picture, line_picture, map_summary, map_table
from viz_app.figures.style import GRID, LEGEND, TEXT, Axes, Settings, axis, figure, shown, text_width, unique_labels

__all__ = ["stacked_shares", "word_grid"]

FloatArray = NDArray[np.float32]
LETTERS = 12  # of a word in a cell; the hover has all of it
FIFTHS = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)  # of an axis of shares


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
    """Draw a word a cell, the darker the less probable.

    Args:
        words: (R, C).
        probabilities: (R, C).
        rows: Names, first on top.
        columns: Names.
        row_title: What the rows are.
        column_title: What the columns are.
        notes: (R, C), for the hover.
        height: Pixels.
    """
    letters = max(4, min(LETTERS, round(100 / len(columns))))  # of cells in a picture of some 1,000 pixels
    trace = {
        "type": "heatmap",
        "z": np.ascontiguousarray(probabilities, dtype=np.float32),
        "x": unique_labels(columns),
        "y": list(rows),
        "text": legible(
            [[shown(word, limit=letters) for word in line] for line in words], probabilities, low=0.0, high=1.0
        ),
        "texttemplate": "%{text}",
        "textfont": {"size": 14},
        "customdata": [[shown(note, limit=120) for note in line] for line in notes],
        "zmin": 0.0,
        "zmax": 1.0,
        "colorscale": SEQUENTIAL,
        "colorbar": colour_bar("probability"),
        "xgap": 2,
        "ygap": 2,
        "hovertemplate": "%{y}<br>%{customdata}<extra></extra>",
    }
    named = {"type": "category", "automargin": False}
    drawn = figure(
        [trace],
        axis(column_title, tickangle=-45, **named),
        axis(row_title, autorange="reversed", **named),
        height=height,
        margin={"l": 46 + text_width(rows), "r": 88, "b": 50 + 0.72 * text_width([shown(name) for name in columns])},
    )
    axes = Axes(queries=rows, keys=columns, query_title=row_title, key_title=column_title)
    return Picture(
        figure=drawn,
        table=partial(map_table, probabilities, axes, cells=notes),
        summary=map_summary(probabilities, axes, unit="probability"),
    )


def stacked_shares(series: Mapping[str, Sequence[float]], labels: Sequence[str], *, title: str, height: int) -> Picture:
    """Draw shares of a whole as one stacked bar for each label.

    Args:
        series: Name → a share for each label; those of a label sum to 1.
        labels: Of the bars.
        title: Of the horizontal axis.
        height: Pixels.
    """
    names = unique_labels(labels)
    traces: list[Settings] = [
        {
            "type": "bar",
            "x": names,
            "y": list(values),
            "name": name,
            "marker": {"color": colour},
            "text": [f"{100 * value:.0f} %" if value >= 0.1 and len(labels) <= 24 else "" for value in values],
            "textposition": "inside",
            "textangle": 0,
            "textfont": {"size": 14, "color": ink(colour)},
            "hovertemplate": f"%{{x}}<br>{name}: %{{y:.4f}}<extra></extra>",
        }
        for colour, (name, values) in zip(LINES, series.items(), strict=False)
    ]
    drawn = figure(
        traces,
        axis(title, type="category", automargin=False, tickangle=-45),
        axis("share", range=[0, 1], tickvals=FIFTHS, ticktext=[f"{100 * share:.0f} %" for share in FIFTHS], **GRID),
        height=height,
        margin={"t": 34, "l": 64, "b": 50 + 0.72 * text_width([shown(label) for label in labels])},
        barmode="stack",
        uniformtext={"minsize": 14, "mode": "hide"},  # a bar with too little room shows no number, not a tiny one
        showlegend=True,
        legend={**LEGEND, "font": TEXT, "traceorder": "normal"},
    )
    return line_picture(drawn, labels, series, x_title=title, unit="share")

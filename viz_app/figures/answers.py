"""The answers of a class."""

from collections.abc import Sequence
from math import ceil

from viz_app.content.translation import t
from viz_app.figures.colours import LINES
from viz_app.figures.labels import broken, escaped_label, visible_label
from viz_app.figures.picture import Picture, line_picture
from viz_app.figures.style import GRID, TEXT, axis, figure, hover

__all__ = ["answer_bars"]

BAR, ENDS = 44, 70  # pixels for one bar with a label of two lines, and for the axis below all
TICKS = 5  # at most, above 0
ROOM = 1.1  # for the number at the end of the longest bar
WIDEST, LONGEST = 300, 80  # of a label: pixels of a line, and letters


def answer_bars(answers: Sequence[str], counts: Sequence[int]) -> Picture:
    """Draw one bar for each answer.

    Args:
        answers: Their texts, the first one on top.
        counts: How many members gave each answer.
    """
    labels, unit, most = [in_lines(answer) for answer in answers], t("students who answered"), max([1, *counts])
    trace = {
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

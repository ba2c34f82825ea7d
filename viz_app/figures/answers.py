"""The answers of a class."""

from collections.abc import Sequence

from viz_app.content.translation import t
from viz_app.figures.colours import LINES
from viz_app.figures.labels import broken, escaped_label, visible_label
from viz_app.figures.picture import Picture, line_picture
from viz_app.figures.style import GRID, axis, figure, hover

__all__ = ["answer_bars"]

BAR, ENDS = 44, 70  # pixels for one bar with a label of two lines, and for the axis below all
WIDEST, LONGEST = 300, 80  # of a label: pixels of a line, and letters


def answer_bars(answers: Sequence[str], counts: Sequence[int]) -> Picture:
    """Draw one bar for each answer.

    Args:
        answers: Their texts, the first one on top.
        counts: How many members gave each answer.
    """
    labels, unit = [in_lines(answer) for answer in answers], t("members of the class")
    trace = {
        "type": "bar",
        "orientation": "h",
        "x": list(counts),
        "y": labels,
        "text": [str(count) for count in counts],
        "textposition": "auto",
        "cliponaxis": False,
        "marker": {"color": LINES[0]},
        "hovertemplate": hover("%{y}", "%{x}"),
    }
    drawn = figure(
        [trace],
        axis(unit, rangemode="tozero", tickformat="d", nticks=6, **GRID),
        axis("", type="category", autorange="reversed"),
        height=BAR * len(answers) + ENDS,
    )
    return line_picture(drawn, answers, {unit: counts}, x_title=t("answer"), unit=unit)


def in_lines(answer: str) -> str:
    lines = broken(visible_label(answer, limit=LONGEST), WIDEST).split("<br>")
    return "<br>".join(escaped_label(line, limit=LONGEST) for line in lines)

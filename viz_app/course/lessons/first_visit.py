"""The tour of a first visit: five steps on Translate. Nothing is hidden, and nothing has to be answered."""

from viz_app.course.lesson import Answer, Values, Verdict
from viz_app.course.lesson_file import read_lesson
from viz_app.course.situation import Situation

__all__ = ["LESSON"]

TEXT = "Where is the station?"


def another_sentence(situation: Situation, _: Answer) -> Verdict:
    """The model translates a sentence of the visitor."""
    typed = situation.text.strip() != TEXT
    values = {"text": situation.text, "translation": situation.translation.text}
    return Verdict(right=typed, outcome="right" if typed else "wrong", values=values)


def least_certain(situation: Situation, _: Answer) -> Verdict:
    """The token that got the lowest probability."""
    written = situation.translation.written
    if not written:
        return Verdict(right=False, outcome="wrong")
    token = min(written, key=lambda one: one.probability)
    return Verdict(right=True, outcome="right", values={"token": token.text, "probability": token.probability})


def another_head(situation: Situation, _: Answer) -> Verdict:
    """The visitor has opened a head that did not open by itself."""
    layers, heads = situation.translation.maps["cross"].shape[:2]
    layer, head = situation.choices.get("layer", str(layers)), situation.choices.get("head", "1")
    other = (layer, head) != (str(layers), "1")
    values: Values = {"layer": layer, "head": head, "all": layers * heads}
    return Verdict(right=other, outcome="right" if other else "wrong", values=values)


def strongest_cell(situation: Situation, _: Answer) -> Verdict:
    """The key with the largest weight of the first query, in the head that is open."""
    translation = situation.translation
    maps = translation.maps["cross"]
    numbers = [situation.choices.get(name, "") for name in ("layer", "head")]
    if not all(number.isdecimal() for number in numbers) or not translation.written:
        numbers = [str(maps.shape[0]), "1"]
    row = maps[int(numbers[0]) - 1, int(numbers[1]) - 1, 0]
    key = int(row.argmax())
    values: Values = {
        "query": translation.written[0].text,
        "key": translation.source[key].text,
        "weight": float(row[key]),
    }
    return Verdict(right=True, outcome="right", values=values)


def end_of_tour(situation: Situation, _: Answer) -> Verdict:
    """The visitor has chosen another kind of attention. How many maps the model has computed."""
    maps = sum(one.shape[0] * one.shape[1] for one in situation.translation.maps.values())
    other = situation.choices.get("kind", "cross") != "cross"
    return Verdict(right=other, outcome="right" if other else "wrong", values={"maps": maps})


LESSON = read_lesson(
    "first-visit",
    {
        "sentence": another_sentence,
        "tokens": least_certain,
        "heads": another_head,
        "map": strongest_cell,
        "more": end_of_tour,
    },
)

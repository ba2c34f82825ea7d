"""The data file of a lesson: what may be left out, and a sentence for each mistake."""

from typing import Any

import pytest

from viz_app.course.catalogue import lesson_of
from viz_app.course.expressions import evaluate, parse
from viz_app.course.lesson import Action, Number

CHECK = "outcome = right_if(given == least)"
STEP: dict[str, Any] = {"name": "one", "page": "steps", "parameters": {"least": 3}, "check": CHECK}


def read(*steps: dict[str, Any], **more: Any) -> Any:
    return lesson_of("probe", {"steps": list(steps), **more})


def test_what_is_left_out_has_its_default() -> None:
    number = {"form": "number", "low": 0, "high": 9, "step": 0.5}
    lesson = read(STEP, {**STEP, "name": "two", "answer": number, "check": "outcome = estimated(given, least, 1)"})
    one, two = lesson.steps
    assert (lesson.minutes, one.choices, one.answer, one.outcomes) == (20, {}, Action(), ("right", "wrong"))
    assert (two.answer, two.outcomes) == (Number(0, 9, 0.5), ("right", "too-low", "too-high"))


def test_a_step_adds_its_choices_to_those_of_its_place() -> None:
    places = {"bank": {"text": "A bank.", "kind": "cross"}}
    (step,) = read({**STEP, "at": "bank", "choices": {"kind": "encoder"}}, places=places).steps
    assert step.choices == {"text": "A bank.", "kind": "encoder"}


def test_an_offer_is_a_text_or_choices() -> None:
    (step,) = read({**STEP, "offers": ["Open the door.", {"kind": "cross"}]}).steps
    assert step.offers == ({"text": "Open the door."}, {"kind": "cross"})


def test_the_check_compares_with_the_parameters_of_the_file() -> None:
    (step,) = read(STEP).steps
    verdicts = [step.check(None, answer) for answer in (3, 4)]
    assert [verdict.right for verdict in verdicts] == [True, False]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"pages": "steps"}, "Step has no setting pages"),
        ({"page": 3}, "page is 3; it must be of type str"),
        ({"puzzle": "yes"}, "puzzle is 'yes'; it must be of type bool"),
        ({"points_at": "all"}, "points_at is 'all'; it must be one of"),
        ({"parameters": {}}, "unknown name least"),
        ({"parameters": {"least": 3, "most": 4}}, "does not use most"),
        ({"check": CHECK.replace("least", "least + print(3)")}, "unknown name print"),
        ({"check": "import os"}, "“import os” is no line of a check"),
        ({"check": "outcome = least.real()"}, "“least.real()” is no expression of a check"),
        ({"check": "least"}, "has no outcome"),
        ({"check": "outcome ="}, "invalid syntax"),
        ({"answer": {"form": "head"}}, "an answer has the form head; it must be one of one_of"),
        ({"answer": {"form": "number", "low": "0", "high": 9, "step": 1}}, "low is '0'; it must be a number"),
        ({"answer": {"form": "one_of"}}, "missing 1 required positional argument: 'options'"),
        ({"at": "bank"}, "it is at bank, but the places are hut"),
        ({"choices": {"layer": 2}}, "a choice is not a text"),
        ({"offers": [{"layer": 2}]}, "a choice is not a text"),
        ({"offers": [3]}, "not iterable"),
        ({"outcomes": "right"}, "outcomes is 'right'; it must be a list of type str"),
    ],
)
def test_a_mistake_in_a_step_is_named(change: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=r"The step probe\.one ") as error:
        read(STEP | change, places={"hut": {"text": "A hut."}})
    assert problem in str(error.value)


def test_a_lesson_has_each_step_once_and_no_unknown_setting() -> None:
    with pytest.raises(ValueError, match="The lesson probe has two steps of one name"):
        read(STEP, STEP)
    with pytest.raises(ValueError, match="The lesson probe has no setting hours"):
        read(STEP, hours=1)


def test_a_check_shows_its_lines_except_those_for_itself() -> None:
    lines = parse(
        """
_long = [one for one in words(text) if len(one) > least]
first = _long[0]
all = joined(_long[:2], "+") or "–"
third = _long[2]
ratio = count / (least - 3)
least, numbers
outcome = "none" if not _long else "right" if 0 < count <= 2 and "cat" not in words(text) else "wrong"
"""
    )
    quantities = {"text": "The Black dog ran home", "count": 2, "numbers": {"a": 1, "b": 0.5}}
    outcome, values = evaluate(lines, {"least": 3}, lambda name, *_: quantities[name])
    assert outcome == "right"
    assert values == {"first": "black", "all": "black+home", "ratio": float("inf"), "least": 3, "a": 1, "b": 0.5}
    assert evaluate(lines, {"least": 9}, lambda name, *_: quantities[name])[0] == "none"
    with pytest.raises(ValueError, match="no outcome for this run"):
        evaluate(parse("outcome = right_if(given == list[3])"), {"given": 1, "list": []}, quantities.get)

"""What a browser may send as progress, and the numbers of the list."""

import json
import math

import pytest

from viz_app.course.catalogue import ANSWER_FORMS, LESSONS
from viz_app.course.lesson import Action, AnswerForm, Kept, Number, OneOf, OneToken
from viz_app.course.progress import Record, finished_steps, first_open_step, read_progress, written_record

FORMS: dict[str, AnswerForm] = {
    "a.option": OneOf(("yes", "no")),
    "a.token": OneToken("reads"),
    "a.number": Number(0, 100, 0.5),
    "a.word": Kept(5),
    "a.puzzle": Action(),
}
ANSWERS = {"a.option": "no", "a.token": 3, "a.number": 12.5, "a.word": "Hund", "a.puzzle": None}


def test_the_browser_gives_back_what_it_got() -> None:
    records = {name: Record(first=answer, answer=answer, right=True) for name, answer in ANSWERS.items()}
    sent = json.loads(json.dumps({name: written_record(record) for name, record in records.items()}))
    assert read_progress(sent, FORMS) == records


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("a.option", "maybe"),
        ("a.option", ["yes", "no"]),
        ("a.token", -1),
        ("a.token", 1.5),
        ("a.token", 10**400),
        ("a.token", True),
        ("a.token", [1, 2]),
        ("a.number", math.nan),
        ("a.number", 101),
        ("a.word", "x" * 6),
        ("a.word", {"text": "Hund"}),
        ("a.puzzle", "done"),
        ("b.unknown", "yes"),
    ],
)
def test_an_answer_that_no_control_gives_is_left_out(name: str, answer: object) -> None:
    sent = {name: {"first": answer, "answer": answer, "right": True}}
    assert read_progress(json.loads(json.dumps(sent)), FORMS) == {}


@pytest.mark.parametrize("stored", [None, "text", 3, [], {"a.option": "yes"}, {"a.option": None}, {"a.option": {}}])
def test_what_has_no_form_of_progress_is_left_out(stored: object) -> None:
    assert read_progress(stored, FORMS) == {}


def test_only_the_word_true_makes_an_answer_right() -> None:
    sent = {"a.option": {"first": "no", "answer": "yes", "right": "true"}}
    assert read_progress(sent, FORMS) == {"a.option": Record(first="no", answer="yes", right=False)}


def test_a_lesson_resumes_at_the_first_step_without_an_answer() -> None:
    lesson = LESSONS[0]
    links = [lesson.link(step) for step in lesson.steps]
    some = {name: Record(first=None, answer=None) for name in (links[0], links[2])}
    assert first_open_step(lesson, some) is lesson.steps[1]
    assert finished_steps(lesson, some) == 2
    every = {name: Record(first=None, answer=None) for name in ANSWER_FORMS}
    assert first_open_step(lesson, every) is lesson.steps[0]

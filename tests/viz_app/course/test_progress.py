"""What a browser may send as progress or as the choices from before a lesson, and the numbers of the list."""

import json
import math
from collections.abc import Callable
from dataclasses import asdict

import pytest
from streamlit.testing.v1 import AppTest

from model.interventions import Intervention
from viz_app.course.catalogue import ANSWER_FORMS, LESSONS
from viz_app.course.lesson import Action, AnswerForm, Kept, Number, OneOf, OneToken
from viz_app.course.progress import (
    Before,
    Record,
    open_steps,
    read_before,
    read_progress,
    written_before,
)

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
    sent = json.loads(json.dumps({name: asdict(record) for name, record in records.items()}))
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


def test_the_steps_without_an_answer_are_open() -> None:
    lesson = LESSONS[0]
    links = [lesson.link(step) for step in lesson.steps]
    some = {name: Record(first=None, answer=None) for name in (links[0], links[2])}
    assert open_steps(lesson, some) == [lesson.steps[1], *lesson.steps[3:]]
    every = {name: Record(first=None, answer=None) for name in ANSWER_FORMS}
    assert open_steps(lesson, every) == []


def test_the_page_resumes_a_lesson_at_its_first_open_step_and_a_finished_one_at_the_first(
    open_app: Callable[..., AppTest],
) -> None:
    lesson = LESSONS[0]
    links = [lesson.link(step) for step in lesson.steps]
    for answered, expected in (((links[0], links[2]), links[1]), (ANSWER_FORMS, links[0])):
        app = open_app("lessons")
        visit = app.session_state["lesson_visit"]
        visit.progress = {name: Record(first=None, answer=None) for name in answered}
        app.run()
        app.button(key=f"open_{lesson.name}").click().run()
        assert visit.step == expected


PAGES = {"translate", "heads"}
CHOSEN = {
    "text": "My own sentence.",
    "forced": ((1, 20), (3, 7)),
    "intervention": Intervention.from_code("off.cross.1.3"),
    "beam_size": 4,
    "merge": True,
}


def test_the_browser_gives_back_what_was_there_before_a_lesson() -> None:
    before = Before(page="heads", chosen=CHOSEN)
    assert read_before(json.loads(json.dumps(written_before(before))), PAGES) == before


@pytest.mark.parametrize(
    "stored",
    [None, "text", 3, [], {}, {"page": "nowhere", "chosen": {}}, {"page": ["heads"], "chosen": {}}, {"page": "heads"}],
)
def test_what_names_no_page_is_nothing(stored: object) -> None:
    assert read_before(stored, PAGES) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("forced", "1.x"),
        ("intervention", "silence everything"),
        ("beam_size", "many"),
        ("beam_size", 4),
        ("merge", ["true"]),
        ("text", "x" * 20_001),
        ("text", {"a": 1}),
        ("lang", "zh"),
        ("present", "true"),
        ("lesson", "many-heads.together"),
        ("no-choice", "x"),
    ],
)
def test_a_choice_that_a_lesson_cannot_restore_is_left_out(name: str, value: object) -> None:
    assert read_before({"page": "heads", "chosen": {name: value, "kind": "cross"}}, PAGES) == Before(
        page="heads", chosen={"kind": "cross"}
    )

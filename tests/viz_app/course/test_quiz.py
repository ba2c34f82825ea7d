"""The answers to the questions: in two rounds, once each, paired by a random id, and into the class without a name."""

import csv
import io
from collections.abc import Callable

import pytest
from streamlit.testing.v1 import AppTest

from viz_app.content.catalogues import ENGLISH, LANGUAGES
from viz_app.course.catalogue import LESSONS
from viz_app.course.progress import Record
from viz_app.course.quiz import QUIZ, handed_in, questions, quiz_record, right_answers, shuffled, written_answers
from viz_app.sections.course.lessons_page import quiz_csv
from viz_app.server.store import MEMORY, SqliteStore
from viz_app.session.classes import Classes

RIGHT = {one.name: one.right for one in questions(ENGLISH)}


def test_the_browser_gives_back_the_answers_and_nothing_else() -> None:
    kept = {"questions.before": quiz_record(written_answers(RIGHT))}
    assert handed_in(kept) == {"before": RIGHT}
    forged = "order=<b>x</b>;nothing=same;residual=adds;;=;beam"
    assert handed_in({"questions.after": Record(first=forged, answer=forged)}) == {"after": {"residual": "adds"}}


def test_a_question_without_an_answer_is_not_right() -> None:
    assert right_answers(RIGHT) == 12
    assert right_answers({**RIGHT, "order": "swapped"}) == 11
    assert right_answers({"order": RIGHT["order"]}) == 1


def test_the_rounds_have_the_same_questions_in_another_order() -> None:
    first, second = shuffled(list(RIGHT), "visit", "before"), shuffled(list(RIGHT), "visit", "after")
    assert first != second
    assert sorted(first) == sorted(second) == sorted(RIGHT)
    assert first == shuffled(list(RIGHT), "visit", "before"), "it stays while the visitor answers"


def test_a_class_pairs_both_rounds_of_a_member_without_a_name() -> None:
    store = SqliteStore(MEMORY)
    ours = Classes(most=2, most_members=9, seconds=100, store=lambda: store)
    code = ours.open("teacher", "positions")
    for member in ("Ann", "Bo"):
        ours.join(code, member)
    ours.note_round("Ann", "before", {"order": "swapped"})
    ours.note_round("Ann", "before", RIGHT)  # the first counts
    ours.note_round("Ann", "after", RIGHT)
    ours.note_round("stranger", "after", RIGHT)
    report = ours.report("teacher")
    assert report
    (name,) = report.rounds
    assert report.rounds[name] == {"before": {"order": "swapped"}, "after": RIGHT}
    assert "Ann" not in name
    assert ours.report("Ann") is None, "only the teacher sees them"
    rows = list(csv.DictReader(io.StringIO(quiz_csv(report.rounds).decode("utf-8-sig"))))
    assert len(rows) == 24
    assert {row["id"] for row in rows} == {name}
    assert {row["answer"] for row in rows if row["round"] == "before"} == {"", "swapped"}
    ours.leave("Ann")
    assert ours.report("teacher").rounds == {}  # type: ignore[union-attr]


def test_the_right_answers_appear_after_the_second_round(open_app: Callable[..., AppTest]) -> None:
    app = open_app("lessons", lessons_tab="quiz")
    assert len(app.radio) == 12
    press(app, "Hand in")
    assert "at least one question" in app.warning[0].value
    hand_in(app, "before", {"order": "swapped"})
    assert "You have handed in 1 answer." in app.success[0].value
    assert "Right:" not in markdown(app)
    app.button_group(key="questions_round").set_value("after").run()
    hand_in(app, "after", RIGHT)
    assert app.metric[0].value == "12 of 12"
    assert app.metric[0].delta == "12"
    app.button_group(key="questions_round").set_value("before").run()
    assert app.metric[0].value == "0 of 12"
    assert "Right: Each word has the same vector in both sentences." in markdown(app)


def hand_in(app: AppTest, round_name: str, answers: dict[str, str]) -> None:
    for name, option in answers.items():
        app.radio(key=f"question_{round_name}_{name}").set_value(option)
    press(app, "Hand in")


def press(app: AppTest, label: str) -> None:
    next(button for button in app.button if button.label == label).click().run()
    assert not app.exception, app.exception


def markdown(app: AppTest) -> str:
    return "\n".join(text.value for text in app.markdown)


@pytest.mark.parametrize("code", LANGUAGES)
def test_every_language_has_the_same_questions_options_and_right_answers(code: str) -> None:
    assert (QUIZ / f"{code}.toml").is_file(), "English would take its place"
    ours, english = questions(code), questions(ENGLISH)
    assert [(q.name, q.lesson, tuple(q.options), q.right) for q in ours] == [
        (q.name, q.lesson, tuple(q.options), q.right) for q in english
    ]
    for one in ours:
        assert len(set(one.options.values())) == 4, one.name
        assert all((one.question, one.why, *one.options.values()))


def test_twelve_questions_are_about_all_lessons() -> None:
    assert len({one.name for one in questions(ENGLISH)}) == 12
    assert {one.lesson for one in questions(ENGLISH)} == {lesson.name for lesson in LESSONS}
    assert all(one.right in one.options for one in questions(ENGLISH))


@pytest.mark.parametrize("code", LANGUAGES)
def test_the_longest_option_is_not_a_way_to_guess(code: str) -> None:
    longest = [max(one.options, key=lambda name: len(one.options[name])) == one.right for one in questions(code)]
    assert sum(longest) <= 6

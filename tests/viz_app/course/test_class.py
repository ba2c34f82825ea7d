"""A class on the pages: students join with a code, and the teacher sees their first answers without their words."""

import re
from collections.abc import Callable, Iterator
from io import BytesIO
from pathlib import Path

import pandas as pd
import pytest
import streamlit as st
from streamlit import config
from streamlit.testing.v1 import AppTest

from tests.redis_server import redis_server
from tests.viz_app.conftest import charts, html
from viz_app.content.lesson_texts import lesson_text
from viz_app.course.catalogue import lesson_named
from viz_app.sections.course.class_room import answer_csv
from viz_app.server import addresses, store
from viz_app.session.classes import CLASSES

OpenApp = Callable[..., AppTest]
LESSON, MASKS = lesson_named("query-key-value"), lesson_named("masks-and-decoding")
TEXTS = lesson_text(LESSON.name, "en").steps


@pytest.fixture(autouse=True)
def no_class_before() -> Iterator[None]:
    store.shared_store.cache_clear()
    yield
    store.shared_store.cache_clear()


@pytest.fixture
def teacher(open_app: OpenApp) -> AppTest:
    """A teacher who has opened a class for lesson 2."""
    app = open_app("lessons", lessons_tab="teach")
    app.selectbox(key="class_lesson").set_value(LESSON.name)
    app.button(key="class_open").click().run()
    assert not app.exception, app.exception
    return app


def code_of(teacher: AppTest) -> str:
    (code,) = (header.value for header in teacher.header if re.fullmatch(r"[a-z2-9]{5}", header.value))
    return code


def join(open_app: OpenApp, code: str) -> AppTest:
    """The browser follows the code to the first step of the lesson."""
    app = open_app(code=code)
    return app.switch_page(f"viz_app/pages/{LESSON.steps[0].page}.py").run()


def test_the_teacher_sees_the_first_answers_of_students_who_joined_with_the_code(
    open_app: OpenApp, teacher: AppTest
) -> None:
    code, step = code_of(teacher), LESSON.steps[0]
    students = [join(open_app, f" {code.upper()}"), join(open_app, code)]
    for student, answers in zip(students, (("one", "keys"), ("one",)), strict=True):
        for answer in answers:
            student.button_group(key=f"lesson_answer_{LESSON.link(step)}").set_value(answer).run()
            assert not student.exception, student.exception
    teacher.session_state["code_to_follow"] = code  # as the field for a code leaves it
    teacher.run().switch_page(f"viz_app/pages/{step.page}.py").run()
    assert f"Class {code}: 2 of 2 answered." in "\n".join(text.value for text in teacher.caption)
    teacher.switch_page("viz_app/pages/lessons.py").run()
    assert "**2 students** have joined" in "\n".join(text.value for text in teacher.markdown)
    table = teacher.dataframe[0].value
    assert table["Here now"].tolist()[0] == table["Answered"].tolist()[0] == 2
    (chart,) = charts(teacher)
    bars, ticks = chart["data"][0], chart["layout"]["xaxis"]
    assert [label.replace("<br>", " ") for label in bars["y"]] == [*TEXTS[step.name].options.values()]
    assert bars["text"] == ["2" if option == "one" else "0" for option in TEXTS[step.name].options]
    assert ticks["dtick"] == 1
    assert ticks["range"][0] == 0


def test_a_token_of_a_students_own_sentence_is_not_shown(open_app: OpenApp, teacher: AppTest) -> None:
    student = join(open_app, code_of(teacher))
    student.query_params["lesson"] = LESSON.link(LESSON.steps[1])
    student.session_state["lesson_visit"].wanted = None
    visit = student.session_state["lesson_visit"]
    visit.step = LESSON.link(LESSON.steps[1])
    student.session_state["choices"].chosen |= {"lesson": visit.step, "text": "My rude neighbour reads a book."}
    student.run()
    student.button_group[0].set_value(1).run()
    assert not student.exception, student.exception
    teacher.run()
    teacher.selectbox(key=f"class_step_{LESSON.name}").set_value("best-key").run()
    (bars,) = (chart["data"][0] for chart in charts(teacher))
    assert bars["y"] == ["own words"]


def test_a_student_leaves_and_a_closed_class_has_no_code(open_app: OpenApp, teacher: AppTest) -> None:
    code = code_of(teacher)
    student = join(open_app, code)
    student.switch_page("viz_app/pages/lessons.py").run()
    assert f"You are in the class {code}" in "\n".join(text.value for text in student.caption)
    student.button(key="class_leave").click().run()
    teacher.run()
    assert "**0 students** have joined" in "\n".join(text.value for text in teacher.markdown)
    teacher.button(key="class_close").click().run()
    assert teacher.button(key="class_open")
    late = open_app(code=code)
    assert f"No class and no page has the code “{code}”." in late.warning[0].value


def test_a_class_goes_to_another_lesson_with_the_same_code_and_its_students_follow(
    open_app: OpenApp, teacher: AppTest
) -> None:
    code = code_of(teacher)
    student = join(open_app, code)
    teacher.selectbox(key="class_lesson_now").set_value(MASKS.name).run()
    assert code_of(teacher) == code
    assert (
        teacher.dataframe[0].value["Step"].tolist()[0] == f"1. {lesson_text(MASKS.name, 'en').steps['padding'].title}"
    )
    student.run()  # as the page does by itself after some seconds
    student.switch_page("viz_app/pages/masks.py").run()
    assert student.session_state["lesson_visit"].step == MASKS.link(MASKS.steps[0])
    teacher.run()
    assert teacher.dataframe[0].value["Here now"].tolist()[0] == 1


def test_the_answers_of_a_closed_class_can_be_saved_and_compute_nothing(open_app: OpenApp, teacher: AppTest) -> None:
    step, code = LESSON.steps[0], code_of(teacher)
    student = join(open_app, code)
    student.button_group(key=f"lesson_answer_{LESSON.link(step)}").set_value("keys").run()
    who = student.session_state["visitor"].name
    assert CLASSES.class_of(who) == code
    for place, token in enumerate(('=HYPERLINK("x")', "+1", "@a", "-")):
        CLASSES.note_answer(who, LESSON.name, f"step-{place}", token, right=False)
    teacher.button(key="class_close").click().run()
    assert "closed_csv" in downloads(teacher)
    report = CLASSES.closed_report(teacher.session_state["visitor"].name)
    assert report
    table = pd.read_csv(BytesIO(answer_csv(report)))
    assert table["first answer"].tolist() == ["keys", '\'=HYPERLINK("x")', "'+1", "'@a", "'-"]
    assert [*table.columns] == ["lesson", "step", "first answer", "members"], "no names"


@pytest.mark.parametrize(("listens_at", "warns"), [("localhost", True), ("0.0.0.0", False)])
def test_the_class_screen_shows_the_address_as_text_and_as_qr_code_or_says_that_nobody_else_comes_in(
    open_app: OpenApp, teacher: AppTest, monkeypatch: pytest.MonkeyPatch, listens_at: str, warns: bool
) -> None:
    monkeypatch.setattr(type(st.context), "url", property(lambda _: "http://localhost:8501/lessons"))
    monkeypatch.setattr(addresses, "own_addresses", lambda: ("192.168.7.5", "10.42.0.1"))
    monkeypatch.setattr(
        st, "get_option", lambda name: {"server.address": listens_at}.get(name, config.get_option(name))
    )
    teacher.run()
    page = "\n".join(one.value for kind in (teacher.header, teacher.caption, teacher.warning) for one in kind)
    if warns:
        assert "`python run.py app --server.address 0.0.0.0`" in page
        assert "data:image/svg" not in html(teacher)
    else:
        assert "192.168.7.5:8501/start" in page.replace("\\", "")
        assert "10.42.0.1:8501/start" in page.replace("\\", "")
        assert f"http://192.168.7.5:8501/start?code={code_of(teacher)}" in html(teacher)
        assert "data:image/svg" in html(teacher)


def test_the_class_collects_the_answers_to_the_questions(open_app: OpenApp, teacher: AppTest) -> None:
    assert "class_questions" not in downloads(teacher)
    student = join(open_app, code_of(teacher)).switch_page("viz_app/pages/lessons.py").run()
    student.session_state["lessons_tab"] = "quiz"
    student.run()
    assert "without a name" in "\n".join(text.value for text in student.caption)
    student.radio(key="question_before_order").set_value("same")
    next(button for button in student.button if button.label == "Hand in").click().run()
    assert not student.exception, student.exception
    teacher.run()
    assert "class_questions" in downloads(teacher)
    report = CLASSES.report(teacher.session_state["visitor"].name)
    assert report
    ((rounds,),) = [one.values() for one in report.rounds.values()]
    assert rounds == {"order": "same"}


def test_without_its_store_a_class_waits_and_everything_else_works(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(store, "PAUSE", 0.0)
    with redis_server(tmp_path) as server:
        monkeypatch.setenv("HEADLIGHT_STORE", server.url)
        store.shared_store.cache_clear()
        teacher = open_app("lessons", lessons_tab="teach")
        teacher.selectbox(key="class_lesson").set_value(LESSON.name)
        teacher.button(key="class_open").click().run()
        code = code_of(teacher)
        student = join(open_app, code)
        server.kill()
        student.button_group(key=f"lesson_answer_{LESSON.link(LESSON.steps[0])}").set_value("keys").run()
        assert not student.error
        teacher.run()
        assert f"{server.url} gave the error" in teacher.error[0].value.replace("\\", "")
        assert "On paper" in [one.value for one in teacher.subheader]
        late = open_app("start")
        late.text_input(key="code_on_start").set_value(code).run()
        assert "Classes and codes do not work now" in late.warning[0].value
        server.start()
        student.run()  # as an open page does by itself
        teacher.run()
        assert teacher.dataframe[0].value["Answered"].tolist()[0] == 1
    caplog.clear()


def downloads(app: AppTest) -> str:
    return " ".join(element.proto.id for element in app.get("download_button"))

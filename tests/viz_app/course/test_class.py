"""A class on the pages: students join with a code, and the teacher sees their first answers without their words."""

import re
from collections.abc import Callable, Iterator

import pytest
from streamlit.testing.v1 import AppTest

from tests.viz_app.conftest import charts
from viz_app.content.lesson_texts import lesson_text
from viz_app.course.lessons.query_key_value import LESSON
from viz_app.session import classes

OpenApp = Callable[..., AppTest]
TEXTS = lesson_text(LESSON.name, "en").steps


@pytest.fixture(autouse=True)
def no_class_before() -> Iterator[None]:
    classes.CLASSES._classes.clear()
    yield
    classes.CLASSES._classes.clear()


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
    (bars,) = (chart["data"][0] for chart in charts(teacher))
    assert [TEXTS[step.name].options["one"]] == [label.replace("<br>", " ") for label in bars["y"]]
    assert bars["text"] == ["2"]


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
    teacher.selectbox(key="class_step").set_value("best-key").run()
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
    assert "does not know the code" in late.warning[0].value


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
    ((rounds,),) = [one.rounds.values() for one in classes.CLASSES._classes[code_of(teacher)].members.values()]
    assert rounds == {"order": "same"}


def downloads(app: AppTest) -> str:
    return " ".join(element.proto.id for element in app.get("download_button"))

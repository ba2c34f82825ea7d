"""The teacher's screen: how students join a class, where they are, and what they answered first."""

from collections import Counter
from collections.abc import Mapping

import pandas as pd
import streamlit as st

from viz_app.content.lesson_texts import LessonText, lesson_text
from viz_app.content.translation import language, t, tn
from viz_app.course.catalogue import LESSONS
from viz_app.course.lesson import Lesson, Number, OneOf, Step
from viz_app.figures.answers import answer_bars
from viz_app.sections.course.class_answers import answer_text
from viz_app.sections.course.class_door import class_door, closed_to_others
from viz_app.sections.course.class_files import class_files
from viz_app.server.presence import visitor
from viz_app.session.classes import CLASSES, ClassReport
from viz_app.session.links import has_codes
from viz_app.widgets.charts import draw

__all__ = ["class_answers", "class_screen", "teaches"]

REFRESH = 3.0  # seconds


def teaches() -> bool:
    """Whether this visitor has an open class."""
    return CLASSES.report(visitor()) is not None


def class_screen() -> None:
    """Draw the report of the teacher's class, or the way to open one."""
    if not has_codes():
        st.info(t("This server has several processes, so it has no classes. Start it with one process."))
        return
    if teaches():
        st.fragment(class_report, run_every=REFRESH)()
        return
    open_form()
    if closed := CLASSES.closed_report(visitor()):
        st.markdown(t("Answers of the class {code}, which you have closed:", code=closed.code))
        with st.container(horizontal=True, gap="small"):
            class_files(closed, key="closed")


def class_answers(lesson: Lesson, step: Step) -> None:
    """In the strip of the teacher's lesson: how many have answered the open step, and their first answers.

    Args:
        lesson: The open lesson.
        step: Its open step.
    """
    report = CLASSES.report(visitor())
    if report and report.lesson == lesson.name:
        st.fragment(answers_now, run_every=REFRESH)(step)
    elif report and lesson in LESSONS:
        st.button(
            t("Take class {code} to this lesson", code=report.code),
            key="class_here",
            icon=":material/groups:",
            type="tertiary",
            on_click=CLASSES.choose_lesson,
            args=(visitor(), lesson.name),
        )


def answers_now(step: Step) -> None:
    """Draw the answers. They are drawn again every few seconds, without the page."""
    if (report := CLASSES.report(visitor())) is None:
        return
    with st.container(key="class_line", horizontal=True, vertical_alignment="center", gap="small"):
        answered = sum(report.first.get(step.name, {}).values())
        st.caption(t("Class {code}: {n} of {all} answered.", code=report.code, n=answered, all=report.members))
        with st.popover(t("First answers"), icon=":material/bar_chart:", type="tertiary", key="class_answers_open"):
            step_answers(step, lesson_text(report.lesson, language()), report, key="class_answers_here")


def titles() -> dict[str, str]:
    """The title of each lesson, with its number."""
    numbered = enumerate(LESSONS, start=1)
    return {one.name: f"{number}. {lesson_text(one.name, language()).title}" for number, one in numbered}


def open_form() -> None:
    names = titles()
    st.markdown(
        t(
            "Open a class, and read its code aloud. Your screen then shows how many students are at which step, and "
            "their first answers. It has no names, and nothing is stored."
        )
    )
    closed_to_others()
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    left.selectbox(t("Lesson"), names, format_func=names.__getitem__, key="class_lesson")
    right.button(t("Open a class"), key="class_open", type="primary", width="stretch", on_click=open_class)


def open_class() -> None:
    """Callback: open a class for the chosen lesson."""
    CLASSES.open(visitor(), st.session_state["class_lesson"])


def close_class() -> None:
    """Callback: close the class of this teacher."""
    CLASSES.close(visitor())


def take_to_lesson() -> None:
    """Callback: the class follows to the lesson that the teacher has chosen."""
    CLASSES.choose_lesson(visitor(), st.session_state["class_lesson_now"])


def class_report() -> None:
    """Draw the report. It is drawn again every few seconds, without the rest of the page."""
    report = CLASSES.report(visitor())
    if report is None:
        st.rerun()  # another tab has closed the class
    class_door(report.code)
    st.markdown(tn("**{n} student** has joined.", "**{n} students** have joined.", n=report.members))
    names = titles()
    st.session_state["class_lesson_now"] = report.lesson  # another tab may have chosen
    st.selectbox(
        t("Lesson of the class. Students follow when you choose another one."),
        names,
        format_func=names.__getitem__,
        key="class_lesson_now",
        on_change=take_to_lesson,
    )
    lesson = next(one for one in LESSONS if one.name == report.lesson)
    lesson_report(lesson, lesson_text(lesson.name, language()), report)
    with st.container(horizontal=True, gap="small"):
        class_files(report, key="class")
        with st.popover(t("Close the class"), type="tertiary", key="class_end"):
            st.markdown(t("Nobody can join or answer after this. You can still save the answers on this page."))
            st.button(t("Close the class {code}", code=report.code), key="class_close", on_click=close_class)


def lesson_report(lesson: Lesson, texts: LessonText, report: ClassReport) -> None:
    """Where the class is in its lesson, and the first answers to one step."""
    table = progress_table(lesson, texts, report)
    st.dataframe(table, hide_index=True, alt=t("Where the class is"), height="content")
    names = [step.name for step in lesson.steps]
    busiest = max(names, key=lambda name: sum(report.first.get(name, {}).values()))
    shown = st.selectbox(
        t("First answers to the step"),
        names,
        index=names.index(busiest),
        format_func=lambda name: texts.steps[name].title,
        key=f"class_step_{lesson.name}",
    )
    step_answers(lesson.steps[names.index(shown)], texts, report, key="class_answers")


def progress_table(lesson: Lesson, texts: LessonText, report: ClassReport) -> pd.DataFrame:
    rows = [
        {
            t("Step"): f"{number}. {texts.steps[step.name].title}",
            t("Here now"): report.at.get(step.name, 0),
            t("Answered"): sum(report.first.get(step.name, {}).values()),
            t("Right"): report.right.get(step.name, 0),
        }
        for number, step in enumerate(lesson.steps, start=1)
    ]
    return pd.DataFrame(rows)


def step_answers(step: Step, texts: LessonText, report: ClassReport, *, key: str) -> None:
    """Draw the first answers of a class to one step.

    Args:
        step: The step.
        texts: The texts of its lesson.
        report: What the class has answered.
        key: The name of the picture on the page.
    """
    text, counts = texts.steps[step.name], report.first.get(step.name, {})
    st.markdown(text.question)
    if not counts:
        st.caption(t("Nobody has answered this step yet."))
        return
    shown: Counter[str] = Counter()
    for code in ordered(step, counts):
        shown[answer_text(step.answer, text, code)] += counts.get(code, 0)
    draw(
        answer_bars(list(shown), list(shown.values())),
        key=key,
        alt=t("First answers of the class: {question}", question=text.question.replace("*", "")),
        title=t("First answers of the class"),
    )


def ordered(step: Step, counts: Mapping[str, int]) -> list[str]:
    """All options of a question, also those without an answer; estimates by size; other answers by their number."""
    if isinstance(step.answer, OneOf):
        return list(step.answer.options)
    if isinstance(step.answer, Number):
        return sorted(counts, key=float)
    return sorted(counts, key=lambda code: -counts[code])

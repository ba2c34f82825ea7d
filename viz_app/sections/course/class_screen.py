"""The teacher's screen: the code of a class, where its members are, and what they answered first."""

from collections import Counter
from collections.abc import Mapping

import pandas as pd
import streamlit as st

from viz_app.content.lesson_texts import LessonText, lesson_text
from viz_app.content.translation import language, t, tn
from viz_app.course.catalogue import LESSONS
from viz_app.course.lesson import Lesson, Number, Step
from viz_app.course.quiz import ROUNDS
from viz_app.figures.answers import answer_bars
from viz_app.sections.course.class_answers import answer_text
from viz_app.sections.course.questions import quiz_csv
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
    else:
        open_form()


def class_answers(lesson: Lesson, step: Step) -> None:
    """In the strip of the teacher's lesson: how many have answered the open step, and their first answers.

    Args:
        lesson: The open lesson.
        step: Its open step.
    """
    report = CLASSES.report(visitor())
    if report and report.lesson == lesson.name:
        st.fragment(answers_now, run_every=REFRESH)(step)


def answers_now(step: Step) -> None:
    """Draw the answers. They are drawn again every few seconds, without the page."""
    if (report := CLASSES.report(visitor())) is None:
        return
    with st.container(key="class_line", horizontal=True, vertical_alignment="center", gap="small"):
        answered = sum(report.first.get(step.name, {}).values())
        st.caption(t("Class {code}: {n} of {all} answered.", code=report.code, n=answered, all=report.members))
        with st.popover(t("First answers"), icon=":material/bar_chart:", type="tertiary", key="class_answers_open"):
            step_answers(step, lesson_text(report.lesson, language()), report, key="class_answers_here")


def open_form() -> None:
    names = {lesson.name: lesson_text(lesson.name, language()).title for lesson in LESSONS}
    st.markdown(
        t(
            "Open a class for a lesson, and read its code aloud. Your screen then shows how many students are at which "
            "step, and their first answers. It has no names, and nothing is stored."
        )
    )
    left, right = st.columns([3, 1], vertical_alignment="bottom")
    left.selectbox(t("Lesson"), names, format_func=lambda name: names[name], key="class_lesson")
    right.button(t("Open a class"), key="class_open", type="primary", width="stretch", on_click=open_class)


def open_class() -> None:
    """Callback: open a class for the chosen lesson."""
    CLASSES.open(visitor(), st.session_state["class_lesson"])


def close_class() -> None:
    """Callback: close the class of this teacher."""
    CLASSES.close(visitor())


def class_report() -> None:
    """Draw the report. It is drawn again every few seconds, without the rest of the page."""
    report = CLASSES.report(visitor())
    if report is None:
        st.rerun()  # another tab has closed the class
    lesson = next(one for one in LESSONS if one.name == report.lesson)
    texts = lesson_text(lesson.name, language())
    code, size = st.columns([1, 2], vertical_alignment="center")
    code.header(report.code, anchor=False)
    size.markdown(
        t("Students type this code on the page **Start here**. Lesson: {lesson}.", lesson=texts.title)
        + "  \n"
        + tn("**{n} student** has joined.", "**{n} students** have joined.", n=report.members)
    )
    table = progress_table(lesson, texts, report)
    st.dataframe(table, hide_index=True, alt=t("Where the class is"), height="content")
    names = [step.name for step in lesson.steps]
    busiest = max(names, key=lambda name: sum(report.first.get(name, {}).values()))
    shown = st.selectbox(
        t("First answers to the step"),
        names,
        index=names.index(busiest),
        format_func=lambda name: texts.steps[name].title,
        key="class_step",
    )
    step_answers(lesson.steps[names.index(shown)], texts, report, key="class_answers")
    with st.container(horizontal=True, gap="small"):
        st.download_button(
            t("Save as a table (CSV)"),
            answer_table(report).to_csv(index=False).encode("utf-8-sig"),
            f"class-{report.lesson}.csv",
            "text/csv",
            key="class_csv",
            on_click="ignore",
        )
        quiz_button()
        st.button(t("Close the class"), key="class_close", type="tertiary", on_click=close_class)


def quiz_button() -> None:
    """A table of the answers to the questions, where members have handed in some."""
    if rounds := CLASSES.rounds(visitor()):
        before, after = (sum(name in one for one in rounds.values()) for name in ROUNDS)
        st.download_button(
            t("Answers to the questions (CSV)"),
            quiz_csv(rounds),
            "class-questions.csv",
            "text/csv",
            key="class_questions",
            help=t("Handed in before the lessons: {before}. After the lessons: {after}.", before=before, after=after),
            on_click="ignore",
        )


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


def answer_table(report: ClassReport) -> pd.DataFrame:
    """One row for each step and answer. The headings are English, so that a program finds them."""
    rows = [
        (report.lesson, step, answer, count)
        for step, answers in report.first.items()
        for answer, count in answers.items()
    ]
    return pd.DataFrame(rows, columns=["lesson", "step", "first answer", "members"])


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
        shown[answer_text(step.answer, text, code)] += counts[code]
    draw(
        answer_bars(list(shown), list(shown.values())),
        key=key,
        alt=t("First answers of the class: {question}", question=text.question.replace("*", "")),
        title=t("First answers of the class"),
    )


def ordered(step: Step, counts: Mapping[str, int]) -> list[str]:
    """Estimates by their size, other answers by how often they were given."""
    if isinstance(step.answer, Number):
        return sorted(counts, key=float)
    return sorted(counts, key=lambda code: -counts[code])

"""The first line of a strip: page, lesson and step, how far the visitor is, and the buttons for the way."""

from html import escape

import streamlit as st

from viz_app.content.lesson_texts import LessonText
from viz_app.content.translation import t, tp
from viz_app.course.in_step import reveal_step, show_answer
from viz_app.course.lesson import Lesson, Step
from viz_app.course.progress import Record
from viz_app.course.visit import begin_step, finish_lesson, leave_lesson, lesson_visit, reset_step, unchanged
from viz_app.session.choices import choices
from viz_app.widgets.navigation import PAGES
from viz_app.widgets.presenter_mode import presenting

__all__ = ["strip_header"]


def strip_header(lesson: Lesson, step: Step, texts: LessonText, *, page: str, hidden: bool) -> None:
    """Draw the line.

    Args:
        lesson: The open lesson.
        step: Its open step.
        texts: The texts of the lesson.
        page: The name of the page below.
        hidden: Whether the page waits for an answer.
    """
    with st.container(key="lesson_head", horizontal=True, vertical_alignment="center", gap="small"):
        st.html(
            title(t(PAGES[page].title), texts.title, texts.steps[step.name].title) + dots(lesson, step), width="stretch"
        )
        with st.container(key="lesson_way", horizontal=True, vertical_alignment="center", gap="small", width="content"):
            way(lesson, step, hidden=hidden, hints=len(texts.steps[step.name].hints))


def title(page: str, lesson: str, step: str) -> str:
    shown = t("{lesson}: {step}", lesson=lesson, step=step)
    return f'<h1 class="hl-heading hl-lesson">{escape(page)} <span>{escape(shown)}</span></h1>'


def dots(lesson: Lesson, step: Step) -> str:
    """One dot for each step: open, answered or right. The dot of the open step has a ring."""
    progress, number = lesson_visit().progress, lesson.steps.index(step) + 1
    marks = "".join(dot(one, progress.get(lesson.link(one)), here=one is step) for one in lesson.steps)
    right = sum(record.right for one in lesson.steps if (record := progress.get(lesson.link(one))))
    spoken = t(
        "Step {number} of {all}. Steps with a right answer: {right}.", number=number, all=len(lesson.steps), right=right
    )
    return f'<div class="hl-dots" role="img" aria-label="{escape(spoken, quote=True)}">{marks}</div>'


def dot(step: Step, record: Record | None, *, here: bool) -> str:
    state = "open" if record is None else "right" if record.right else "answered"
    return f'<i class="{" ".join([state, *["here"] * here, *["puzzle"] * step.puzzle])}"></i>'


def way(lesson: Lesson, step: Step, *, hidden: bool, hints: int) -> None:
    """Back, next, reset and leave. While a teacher presents, "Next" first shows a hidden page, then the answer.

    The keys of a presenter press `lesson_next`. "Finish" has another name, so one press too many ends no lesson.
    """
    back, after = lesson.after(step, -1), lesson.after(step)
    unanswered = presenting() and hints and lesson_visit().shown.get(lesson.link(step), "page") == "page"
    if not unchanged(step, choices()):
        st.button(
            t("Reset this step"),
            icon=":material/restart_alt:",
            type="tertiary",
            key="lesson_reset",
            on_click=reset_step,
        )
    st.button(
        tp("lesson", "Back"),
        key="lesson_back",
        disabled=back is None,
        on_click=begin_step,
        args=(lesson.link(back) if back else "",),
    )
    if hidden and presenting():
        st.button(tp("lesson", "Show"), key="lesson_next", type="primary", on_click=reveal_step)
    elif unanswered:
        most = hints if step.puzzle else 0
        st.button(t("Show the answer"), key="lesson_next", type="primary", on_click=show_answer, args=(most,))
    elif after:
        st.button(
            tp("lesson", "Next"), key="lesson_next", type="primary", on_click=begin_step, args=(lesson.link(after),)
        )
    else:
        st.button(t("Finish"), key="lesson_finish", type="primary", on_click=finish_lesson, args=(lesson.name,))
    st.button(
        t("Leave the lesson"), key="lesson_leave", type="tertiary", icon=":material/close:", on_click=leave_lesson
    )

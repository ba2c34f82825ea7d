"""The list of lessons, with the visitor's progress."""

import streamlit as st

from viz_app.content.lesson_texts import lesson_text
from viz_app.content.numbers import sentences
from viz_app.content.translation import language, t, tn
from viz_app.course.catalogue import LESSONS
from viz_app.course.lesson import Lesson
from viz_app.course.progress import finished_steps, first_open_step
from viz_app.course.visit import begin_step, forget_progress, lesson_visit

__all__ = ["forget_button", "lesson_list"]


def lesson_list() -> None:
    """Draw one row for each lesson. Its button opens the first step without an answer."""
    for number, lesson in enumerate(LESSONS, start=1):
        with st.container(key=f"lesson_{lesson.name}", border=True):
            lesson_row(number, lesson)


def lesson_row(number: int, lesson: Lesson) -> None:
    text, progress = lesson_text(lesson.name, language()), lesson_visit().progress
    done, steps = finished_steps(lesson, progress), len(lesson.steps)
    left, right = st.columns([5, 1.4], vertical_alignment="center")
    with left:
        st.markdown(f"**{number}. {text.title}** {text.goal}")
        size = tn(
            "{n} step, about {minutes} minutes.", "{n} steps, about {minutes} minutes.", n=steps, minutes=lesson.minutes
        )
        st.caption(sentences([size, t("Answered: {done} of {all}.", done=done, all=steps)]))
    label = t("Start") if not done else t("Continue") if done < steps else t("Again")
    right.button(
        label,
        key=f"open_{lesson.name}",
        type="secondary" if done == steps else "primary",
        width="stretch",
        help=t("Open the lesson “{title}”", title=text.title),
        on_click=begin_step,
        args=(lesson.link(first_open_step(lesson, progress)),),
    )


def forget_button() -> None:
    """A button that asks before it forgets all answers."""
    if not lesson_visit().progress:
        return
    with st.popover(t("Forget my progress"), icon=":material/delete:", type="tertiary"):
        st.markdown(t("Your answers are only in this browser. Remove them? This cannot be undone."))
        st.button(t("Remove my answers"), key="forget_progress", on_click=forget_progress)

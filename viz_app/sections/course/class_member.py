"""What a member of a class sees of it: the code, the way out, and the lessons that the teacher chooses."""

import streamlit as st

from viz_app.content.translation import t
from viz_app.course.catalogue import LESSONS
from viz_app.course.visit import begin_step
from viz_app.server.presence import visitor
from viz_app.session.classes import CLASSES

__all__ = ["follow_class", "member_line"]

REFRESH = 4.0  # seconds


def member_line() -> None:
    """Draw the line for a member; nothing outside a class."""
    if code := CLASSES.class_of(visitor()):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.caption(
                t("You are in the class {code}. The teacher sees your first answers, without a name.", code=code)
            )
            st.button(t("Leave the class"), key="class_leave", type="tertiary", on_click=leave_class)


def leave_class() -> None:
    """Callback: leave the class."""
    CLASSES.leave(visitor())


def follow_class() -> None:
    """For a member, on every page: open the lesson that the teacher has chosen, soon after the teacher has."""
    if CLASSES.class_of(visitor()):
        st.fragment(open_next_lesson, run_every=REFRESH)()


def open_next_lesson() -> None:
    """Show nothing, and look again every few seconds."""
    if name := CLASSES.next_lesson(visitor()):
        lesson = next(one for one in LESSONS if one.name == name)
        begin_step(lesson.link(lesson.steps[0]))
        st.rerun()

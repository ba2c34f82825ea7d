"""Lessons: the course, the questions before and after it, and what a teacher needs."""

import streamlit as st

from viz_app.content.translation import t
from viz_app.sections.course.browser_store import tour_button
from viz_app.sections.course.class_room import class_screen, member_line, teaches
from viz_app.sections.course.lessons_page import for_teachers, forget_button, lesson_list, lesson_summary, quiz_tab
from viz_app.widgets.headings import draw_tabs


def learn() -> None:
    st.markdown(
        t(
            "Each lesson opens the pages of Headlight and asks you before it shows a picture. Your own run of the "
            "model gives the answer. Your answers stay in this browser."
        )
    )
    member_line()
    lesson_list()
    with st.container(horizontal=True, gap="small"):
        tour_button()
        forget_button()


def teach() -> None:
    class_screen()
    st.subheader(t("On paper"), anchor=False, divider="gray")
    for_teachers()


lesson_summary()
draw_tabs(
    "lessons_tab",
    {"learn": (t("Lessons"), learn), "quiz": (t("Questions"), quiz_tab), "teach": (t("For teachers"), teach)},
    first="teach" if teaches() else "learn",
)

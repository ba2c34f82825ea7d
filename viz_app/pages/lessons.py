"""Lessons: the course, the questions before and after it, and what a teacher needs."""

import streamlit as st

from viz_app.content.translation import N_, t
from viz_app.sections.course.browser_store import tour_button
from viz_app.sections.course.class_room import class_screen, member_line, teaches
from viz_app.sections.course.lessons_page import for_teachers, forget_button, lesson_list, lesson_summary, quiz_tab
from viz_app.widgets.headings import tabs

TABS = {"learn": N_("Lessons"), "quiz": N_("Questions"), "teach": N_("For teachers")}

lesson_summary()
learn, quiz, teach = tabs(
    {name: t(label) for name, label in TABS.items()}, "lessons_tab", first="teach" if teaches() else "learn"
)
if learn.open:
    with learn:
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
if quiz.open:
    with quiz:
        quiz_tab()
if teach.open:
    with teach:
        class_screen()
        st.subheader(t("On paper"), anchor=False, divider="gray")
        for_teachers()

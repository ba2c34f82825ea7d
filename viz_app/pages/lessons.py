"""Lessons: the course, and the way to the tour."""

import streamlit as st

from viz_app.content.translation import t
from viz_app.sections.course.browser_store import tour_button
from viz_app.sections.course.lesson_list import forget_button, lesson_list

st.markdown(
    t(
        "Each lesson opens the pages of Headlight and asks you before it shows a picture. Your own run of the model "
        "gives the answer. Your answers stay in this browser."
    )
)
lesson_list()
with st.container(horizontal=True, gap="small"):
    tour_button()
    forget_button()

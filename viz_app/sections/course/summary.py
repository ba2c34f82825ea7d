"""At the end of a lesson: what the visitor has found, with the numbers of the visitor's own runs."""

import streamlit as st

from viz_app.content.lesson_texts import filled, lesson_text
from viz_app.content.translation import language, t, tn
from viz_app.course.catalogue import step_of_link
from viz_app.course.visit import lesson_visit

__all__ = ["lesson_summary"]


def lesson_summary() -> None:
    """Draw the summary of the lesson that the visitor has just finished; nothing without one."""
    visit = lesson_visit()
    if not visit.finished or not (opened := step_of_link(visit.finished)):
        return
    lesson, texts = opened[0], lesson_text(visit.finished, language())
    judged = [(step, verdict) for step in lesson.steps if (verdict := visit.found.get(lesson.link(step)))]
    found = [(texts.steps[step.name], verdict) for step, verdict in judged if verdict.right or step.predicts]
    with st.container(key="lesson_summary", border=True):
        st.header(t("What you have found in “{lesson}”", lesson=texts.title), anchor=False)
        st.markdown(texts.goal)
        for text, verdict in found:
            st.markdown(f"**{text.title}:** {filled(text.outcomes[verdict.outcome], verdict.values)}")
        if missing := len(lesson.steps) - len(found):
            st.caption(tn("{n} step has no result yet.", "{n} steps have no result yet.", n=missing))

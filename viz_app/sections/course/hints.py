"""Three hints, one after the other: a nudge, a suggestion, and "show me"."""

import streamlit as st

from viz_app.content.lesson_texts import StepText
from viz_app.content.translation import N_, t
from viz_app.course.in_step import give_hint
from viz_app.course.visit import lesson_visit

__all__ = ["hints"]

BUTTONS = (N_("Hint"), N_("Another hint"), N_("Show me"))


def hints(name: str, text: StepText, *, needed: bool) -> None:
    """Draw the hints that the visitor has asked for, and a button for the next one.

    Args:
        name: The name of the step in links.
        text: Its texts.
        needed: Whether the visitor has found no right answer yet.
    """
    given = lesson_visit().hints.get(name, 0)
    for hint in text.hints[:given]:
        st.markdown(f":material/lightbulb: {hint}")
    if needed and given < len(text.hints):
        st.button(
            t(BUTTONS[given]),
            key="lesson_hint",
            type="tertiary",
            icon=":material/lightbulb:",
            on_click=give_hint,
            args=(len(text.hints),),
        )

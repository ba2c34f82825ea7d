"""What a member of a class sees of it: the code, and the way out."""

import streamlit as st

from viz_app.content.translation import t
from viz_app.server.presence import visitor
from viz_app.session.classes import CLASSES

__all__ = ["member_line"]


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

"""A frame around the control or the picture that a step is about."""

import re

import streamlit as st

from viz_app.course.lesson import Step

__all__ = ["highlight"]

KEY = re.compile(r"[\w-]+", re.ASCII)


def highlight(step: Step, *, shown: bool) -> None:
    """Draw the frame. It lies outside the element, so nothing moves.

    Args:
        step: The open step, with the key of its target.
        shown: Whether the visitor sees the frame.
    """
    if shown and KEY.fullmatch(step.target):
        st.html(
            f"<style>.st-key-{step.target}{{outline:3px dashed #c2410c;outline:3px dashed light-dark(#c2410c,#ff8f52);"
            "outline-offset:3px;border-radius:6px}</style>"
        )

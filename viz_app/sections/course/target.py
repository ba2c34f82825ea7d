"""A frame around the control or the picture that a step is about. The page scrolls to it when it appears."""

import re

import streamlit as st

from viz_app.components.page_parts import scroll_to_target

__all__ = ["highlight"]

KEY = re.compile(r"[\w-]+", re.ASCII)


def highlight(name: str, target: str, *, shown: str) -> None:
    """Draw the frame. It lies outside the element, so nothing moves.

    Args:
        name: The name of the step in links.
        target: The key of the element; "" for no frame.
        shown: What has appeared of the step. The page scrolls again when it changes.
    """
    scroll_to_target(name, target, shown=shown)
    if KEY.fullmatch(target):
        st.html(
            f"<style>.st-key-{target}{{outline:3px dashed #c2410c;outline:3px dashed light-dark(#c2410c,#ff8f52);"
            "outline-offset:3px;border-radius:6px}</style>"
        )

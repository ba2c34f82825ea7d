"""Present: the same page for the back row of a lecture hall, with larger type and nothing around it.

The switch stands in the sidebar, which it hides; `assets/keys.js` lets the key `p` stand for it.
"""

from collections.abc import Callable
from functools import partial

import streamlit as st

from viz_app.components.elements import key_choice
from viz_app.components.scripts import ASSETS
from viz_app.session.choices import set_choice, settle

__all__ = ["SCALE", "present_switch", "presenting", "walker", "way_back"]

SCALE = 22 / 14  # of the text in pictures: 22 pixels are read from ten metres at 1280 × 720
KEYS = """
| Key | What it does |
|---|---|
| p | presents: large type, and only the picture |
| Escape | ends that |
| ← →, Page Up, Page Down, a clicker | while you present: one step back or on, or up and down the page |
| Tab, then arrow keys | walk the cells of a map, the heads of a board, the tokens of a drawing |
| Enter, Space | choose the cell or the head |
"""
STYLE = ASSETS / "present.css"


def presenting() -> bool:
    """Whether this visitor presents."""
    return bool(st.session_state.get("present"))


def present_switch() -> None:
    """In the sidebar: the switch, and while one presents, its style and the way back."""
    settle("present", False)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.toggle("Present", key="present", help="Large type, and only the picture.")
        with st.popover("Keys", icon=":material/keyboard:", type="tertiary"):
            st.markdown(KEYS)
            key_choice()
    if presenting():
        st.html(STYLE)


def way_back() -> None:
    """In the main column: a button that ends it, for those who have no keyboard at hand."""
    if presenting():
        st.button(
            "Leave",
            key="leave_present",
            icon=":material/close_fullscreen:",
            on_click=partial(set_choice, "present", False),
        )


def walker(on_walk: Callable[[int], None]) -> None:
    """While one presents: two buttons that the arrow keys and a clicker press; `on_walk` gets -1 or 1."""
    if presenting():
        with st.container(key="walker", horizontal=True, gap="small"):
            st.button("‹", key="walk_back", on_click=partial(on_walk, -1), help="Back: ←")
            st.button("›", key="walk_on", on_click=partial(on_walk, 1), help="On: →")

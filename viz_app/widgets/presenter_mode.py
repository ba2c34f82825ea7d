"""Presenter mode: the same page for the back row of a lecture hall, with larger type and nothing around it.

The switch is in the sidebar, which the mode hides. `live/streamlit/keys.js` lets the key `p` press it.
"""

from collections.abc import Callable
from functools import partial

import streamlit as st

from viz_app.components.bundle import LIVE
from viz_app.components.mounting import component
from viz_app.content.translation import N_, t, tp
from viz_app.session.choices import set_choice, settle

__all__ = ["SCALE", "leave_button", "present_switch", "presenting", "step_buttons"]

SCALE = 22 / 14  # of the text in pictures: 22 pixels can be read from ten metres at 1280 × 720
KEYS = (
    ("p", N_("start presenting: large type, and only the picture")),
    ("Escape", N_("stop presenting")),
    (
        N_("← →, Page Up, Page Down, a clicker"),
        N_("while you present: one step back or forward, or scroll the page"),
    ),
    (N_("Tab, then arrow keys"), N_("move over the cells of a map, the heads of a board, the tokens of a drawing")),
    (N_("Enter, Space"), N_("choose the cell or the head")),
)
STYLE = LIVE / "streamlit" / "streamlit_presenting.css"


def presenting() -> bool:
    """Whether this visitor presents."""
    return bool(st.session_state.get("present"))


def present_switch() -> None:
    """Draw the switch and the list of keys, in the sidebar."""
    settle("present", False)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.toggle(t("Present"), key="present", help=t("Large type, and only the picture."))
        with st.popover(tp("keyboard", "Keys"), icon=":material/keyboard:", type="tertiary"):
            head = (tp("keyboard", "Key"), t("Action")), ("---", "---")
            rows = *head, *((t(keys), t(action)) for keys, action in KEYS)
            st.markdown("\n".join(f"| {keys} | {action} |" for keys, action in rows))
            component("present_key", "streamlit/keys", key="key_choice", data={})  # for the key p
    if presenting():
        st.html(STYLE)


def leave_button() -> None:
    """While the visitor presents: a button that stops it, for visitors without a keyboard."""
    if presenting():
        st.button(
            t("Leave"),
            key="leave_present",
            icon=":material/close_fullscreen:",
            on_click=partial(set_choice, "present", False),
        )


def step_buttons(on_step: Callable[[int], None]) -> None:
    """While the visitor presents: two buttons that the arrow keys and a clicker press.

    Args:
        on_step: Called with -1 or 1.
    """
    if presenting():
        with st.container(key="walker", horizontal=True, gap="small"):
            st.button("‹", key="walk_back", on_click=partial(on_step, -1), help=t("Back: ←"))
            st.button("›", key="walk_on", on_click=partial(on_step, 1), help=t("Forward: →"))

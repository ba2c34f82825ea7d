"""How a page ends before its last line."""

from typing import NoReturn

import streamlit as st

__all__ = ["PageEnded", "end_page"]


class PageEnded(Exception):  # noqa: N818 - it is no error
    """The rest of the page is left out."""


def end_page(reason: str = "") -> NoReturn:
    """Show the reason, if there is one, and leave out the rest of the page.

    The router continues. After `st.stop` it would not, and the choices of the visitor would not reach the URL.
    """
    if reason:
        st.info(reason)
    raise PageEnded

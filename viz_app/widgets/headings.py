"""Headings: one of the page, and one of each part of it, which readers of a screen go through by a key."""

from html import escape

import streamlit as st

from viz_app.content.plain import as_sentence

__all__ = ["heading", "section"]


def heading(title: str, first: str) -> None:
    """The heading of a page, with what to do there first."""
    st.html(f'<h1 class="hl-heading">{escape(title)} <span>{escape(first)}</span></h1>')


def section(title: str, says: str = "") -> None:
    """The heading of a part of a page, with what is to be seen there on the same line.

    Args:
        title: Plain text.
        says: One sentence, plain text.
    """
    ended = as_sentence(title) if says else title
    said = f" <span>{escape(says)}</span>" if says else ""
    st.html(f'<div class="hl-section"><h2>{escape(ended)}</h2>{said}</div>')

"""One heading for the page, one for each part of it, a popover that explains a picture, and a check of its numbers.

Screen readers jump from heading to heading.
"""

from html import escape

import streamlit as st

from viz_app.content.plain import as_sentence

__all__ = ["explanation", "heading", "section", "verdict"]


def heading(title: str, instruction: str) -> None:
    """The heading of a page, with what the visitor does there."""
    st.html(f'<h1 class="hl-heading">{escape(title)} <span>{escape(instruction)}</span></h1>')


def section(title: str, caption: str = "") -> None:
    """The heading of a part of a page, with a caption on the same line.

    Args:
        title: Plain text.
        caption: One sentence about the picture below, plain text.
    """
    shown_title = as_sentence(title) if caption else title
    shown_caption = f" <span>{escape(caption)}</span>" if caption else ""
    st.html(f'<div class="hl-section"><h2>{escape(shown_title)}</h2>{shown_caption}</div>')


def explanation(label: str, text: str, formula: str | None = None) -> None:
    """Explain a picture in a popover.

    Args:
        label: The label of the button, such as "How it is computed".
        text: The explanation, in Markdown.
        formula: The formula, in LaTeX.
    """
    with st.popover(label, icon=":material/info:", type="tertiary"):
        st.markdown(text)
        if formula:
            st.latex(formula)


def verdict(agrees: bool, text: str) -> None:
    """Say that numbers of the page agree with those of the model, or that they do not."""
    if agrees:
        st.success(text, icon=":material/check:")
    else:
        st.error(text, icon=":material/error:")

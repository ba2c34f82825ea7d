"""One heading for the page and one for each part of it, tabs, and a popover that explains a picture.

Screen readers jump from heading to heading.
"""

from collections.abc import Mapping, Sequence
from html import escape

import streamlit as st

from viz_app.content.plain import as_sentence
from viz_app.server.streamlit_bridge import TabContainer
from viz_app.session.choices import set_choice, settle

__all__ = ["explanation", "heading", "section", "tabs"]


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


def tabs(labels: Mapping[str, str], key: str, *, first: str = "") -> Sequence[TabContainer]:
    """Show tabs. The page draws only the one whose `open` is true, and links name it.

    Args:
        labels: Id → label. Links name the ids, see `choice_forms.OLD_TABS`.
        key: The name of the choice.
        first: The id of the tab that is open without a choice; by default the first one.
    """
    settle(key, first or next(iter(labels)), labels)
    shown = f"{key}_shown"
    st.session_state[shown] = labels[st.session_state[key]]
    return st.tabs(list(labels.values()), key=shown, on_change=open_tab, args=(key, labels))


def open_tab(key: str, labels: Mapping[str, str]) -> None:
    """Callback of `tabs`: choose the tab that is open now."""
    set_choice(key, next(name for name, label in labels.items() if label == st.session_state[f"{key}_shown"]))

"""A popover that explains a picture."""

import streamlit as st

__all__ = ["explanation"]


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

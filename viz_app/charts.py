"""How every figure comes onto a page."""

from collections.abc import Callable

import plotly.graph_objects as go
import streamlit as st

__all__ = ["draw"]


def draw(figure: go.Figure, *, key: str, alt: str, on_select: Callable[[], None] | None = None) -> None:
    """Put a figure where the page is.

    Args:
        figure: From `viz_app.figures`.
        key: Names it among the charts of its page; what was clicked stands under it in the session.
        alt: What it shows, in words, for those who do not see it.
        on_select: Called after a click on a point, before the page runs again.
    """
    st.plotly_chart(
        figure,
        key=key,
        alt=alt,
        on_select=on_select or "ignore",
        selection_mode="points",
        config={"displayModeBar": False},
    )

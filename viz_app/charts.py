"""How every figure comes onto a page."""

from collections.abc import Callable
from contextlib import nullcontext

import plotly.graph_objects as go
import streamlit as st

from viz_app.figures.style import enlarged
from viz_app.present import SCALE, presenting

__all__ = ["draw"]


def draw(
    figure: go.Figure, *, key: str, alt: str, on_select: Callable[[], None] | None = None, fills: bool = False
) -> None:
    """Put a figure where the page is.

    Args:
        figure: From `viz_app.figures`.
        key: Names it among the charts of its page; what was clicked stands under it in the session.
        alt: What it shows, in words, for those who do not see it.
        on_select: Called after a click on a point, before the page runs again.
        fills: It is as high as the window has room (`assets/page.css`), and at least as high as the figure asks.
    """
    if presenting():
        figure = enlarged(figure, SCALE)
    with st.container(key=f"fills_{key}") if fills else nullcontext():
        st.plotly_chart(
            figure,
            key=key,
            alt=alt,
            height="stretch" if fills else "content",
            on_select=on_select or "ignore",
            selection_mode="points",
            config={"displayModeBar": False},
        )

"""How every figure comes onto a page: the picture, its words, and its numbers one click away."""

from collections.abc import Callable
from contextlib import nullcontext

import pandas as pd
import plotly.graph_objects as go
import streamlit as st

from viz_app.figures.numbers import numbers_of
from viz_app.figures.style import enlarged
from viz_app.session.page_facts import entitle
from viz_app.widgets.presenter_mode import SCALE, presenting

__all__ = ["draw", "numbers"]


def draw(
    figure: go.Figure,
    *,
    key: str,
    alt: str,
    title: str = "",
    on_select: Callable[[], None] | None = None,
    fills: bool = False,
    wide: bool = False,
) -> None:
    """Put a figure where the page is.

    Args:
        figure: From `viz_app.figures`.
        key: Names it among the charts of its page; what was clicked stands under it in the session.
        alt: What it shows, in words, for those who do not see it; what stands out in it is added.
        title: Of the picture when it is saved, where `alt` is too long for one.
        on_select: Called after a click on a point, before the page runs again.
        fills: It is as high as the window has room (`assets/page.css`), and at least as high as the figure asks.
        wide: It is wider than a telephone, and scrolls there.
    """
    found = numbers_of(figure)
    entitle(key, title or alt)
    if presenting():
        figure = enlarged(figure, SCALE)
    place = "fills" if fills else "wide" if wide else ""
    with st.container(key=f"{place}_{key}") if place else nullcontext():
        st.plotly_chart(
            figure,
            key=key,
            alt=f"{alt}. {found.says}",
            height="stretch" if fills else "content",
            on_select=on_select or "ignore",
            selection_mode="points",
            config={"displayModeBar": False},
        )
        numbers({"": found.table}, says=found.says, key=key, alt=alt)


def numbers(tables: dict[str, Callable[[], pd.DataFrame]], *, says: str, key: str, alt: str) -> None:
    """A button that opens the numbers of a picture.

    Args:
        tables: Heading → what makes the table, asked once it is open.
        says: What stands out in them.
        key: Of the picture.
        alt: What the picture shows.
    """
    place = st.popover("Numbers", icon=":material/table:", type="tertiary", key=f"{key}_numbers", on_change="rerun")
    if place.open:
        with place:
            st.text(says)
            for heading, table in tables.items():
                if heading:
                    st.text(heading)
                st.dataframe(table(), placeholder="–", alt=f"Table of the numbers: {heading or alt}")

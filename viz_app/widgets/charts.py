"""Put a picture on a page, with a button that opens its numbers."""

from collections.abc import Callable
from contextlib import nullcontext

import pandas as pd
import streamlit as st

from viz_app.content.numbers import sentences
from viz_app.content.plain import as_sentence
from viz_app.content.translation import t
from viz_app.figures.enlarged import enlarged
from viz_app.figures.picture import Picture
from viz_app.session.page_facts import set_picture_title
from viz_app.widgets.presenter_mode import SCALE, presenting

__all__ = ["draw", "numbers"]


def draw(
    picture: Picture,
    *,
    key: str,
    alt: str,
    title: str = "",
    on_select: Callable[[], None] | None = None,
    fills: bool = False,
    wide: bool = False,
) -> None:
    """Draw a picture and the button for its numbers.

    Args:
        picture: From `viz_app.figures`.
        key: Its name on the page. The session state holds the selected points under this name.
        alt: Text for a reader who cannot see the picture, without a full stop. The picture's summary is added.
        title: Title of the saved picture, if `alt` is too long for one.
        on_select: Called after a click on a point, before the page runs again.
        fills: Fill the height of the window (`streamlit.css`), with the figure's own height as the minimum.
        wide: Keep the picture wider than a phone and let it scroll there.
    """
    set_picture_title(key, title or alt)
    figure = enlarged(picture.figure, SCALE) if presenting() else picture.figure
    place = "fills" if fills else "wide" if wide else ""
    with st.container(key=f"{place}_{key}") if place else nullcontext():
        st.plotly_chart(
            figure,
            key=key,
            alt=sentences([as_sentence(alt), picture.summary]),
            height="stretch" if fills else "content",
            on_select=on_select or "ignore",
            selection_mode="points",
            config={"displayModeBar": False},
        )
        numbers({"": picture.table}, summary=picture.summary, key=key, alt=alt)


def numbers(tables: dict[str, Callable[[], pd.DataFrame]], *, summary: str, key: str, alt: str) -> None:
    """Draw a button that opens the numbers of a picture.

    Args:
        tables: Heading → a function that makes the table. It is called when the button is open.
        summary: A sentence above the tables.
        key: Name of the picture on the page.
        alt: What the picture shows.
    """
    place = st.popover(t("Numbers"), icon=":material/table:", type="tertiary", key=f"{key}_numbers", on_change="rerun")
    if place.open:
        with place:
            st.text(summary)
            for heading, table in tables.items():
                if heading:
                    st.text(heading)
                st.dataframe(table(), placeholder="–", alt=t("Table of the numbers: {picture}", picture=heading or alt))

"""Put a picture on a page, a chart or a map of our own, with a button that opens its numbers."""

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from viz_app.components.mounting import OpenHead, component, labels_of, masked_out, opening, packed, tiles
from viz_app.components.page_parts import set_picture_title
from viz_app.content.numbers import sentences
from viz_app.content.plain import as_sentence
from viz_app.content.translation import t
from viz_app.figures.picture import Picture, map_summary, map_table, overview_summary, overview_table
from viz_app.figures.style import Axes, bound_of, enlarged, marked
from viz_app.widgets.headings import section
from viz_app.widgets.presenter_mode import SCALE, presenting

__all__ = ["draw", "draw_heads", "draw_map", "numbers"]


def draw(
    picture: Picture,
    *,
    key: str,
    alt: str,
    heading: str = "",
    about: str = "",
    title: str = "",
    fills: bool = False,
    wide: bool = False,
) -> None:
    """Draw a picture and the button for its numbers.

    Args:
        picture: From `viz_app.figures`.
        key: Its name on the page.
        alt: Text for a reader who cannot see the picture, without a full stop. The picture's summary is added.
        heading: Stands above it, see `section`.
        about: The caption beside the heading.
        title: Title of the saved picture, if `alt` is too long for one.
        fills: Fill the height of the window (`streamlit.css`), with the figure's own height as the minimum.
        wide: Keep the picture wider than a phone and let it scroll there.
    """
    if heading:
        section(heading, about)
    set_picture_title(key, title or alt)
    figure = enlarged(picture.figure, SCALE) if presenting() else picture.figure
    place = "fills" if fills else "wide" if wide else ""
    with st.container(key=f"{place}_{key}") if place else nullcontext():
        st.plotly_chart(
            figure,
            key=key,
            alt=sentences([as_sentence(alt), picture.summary]),
            height="stretch" if fills else "content",
            config={"displayModeBar": False},
        )
        numbers({"": picture.table}, summary=picture.summary, key=key, alt=alt)


def draw_map(
    values: NDArray[np.float32],
    axes: Axes,
    allowed: NDArray[np.bool_] | None = None,
    *,
    key: str,
    alt: str,
    title: str = "",
    least: int = 0,
    unit: str = "",
    largest: float = 1.0,
    logarithmic: bool = False,
    signed: bool = False,
    action: str = "",
    on_cell: Callable[[int, int], None] | None = None,
) -> None:
    """Draw a map of queries and keys, with the exact number of each cell, and the button for its numbers.

    Args:
        values: (T, S), a section that can be read: the browser has an element for each cell.
        axes: Names of the rows and columns.
        allowed: (T, S), False where masked; by default nothing is.
        key: Its name on the page.
        alt: Text for a reader who cannot see it, without a full stop. The summary of its numbers is added.
        title: Title of the saved picture; by default `alt`.
        least: Pixels; the map is higher where the window leaves more.
        unit: What the numbers are; by default attention weights.
        largest: Upper end of the colour scale of weights.
        logarithmic: The colour scale of weights is logarithmic.
        signed: The numbers are above and below 0: red above, blue below.
        action: What choosing a cell does, as the end of the sentence about a cell.
        on_cell: Called with the query and the key of the cell that was chosen, counted from 0.
    """
    unit = unit or t("attention weight")
    allowed = np.ones(values.shape, dtype=bool) if allowed is None else allowed
    shown = marked(values, allowed)
    summary = map_summary(shown, axes, unit=unit, signed=signed)

    def chosen(cell: Sequence[int]) -> None:
        if on_cell:
            on_cell(*map(int, cell))

    data = {  # of `live/ui/maps.js`
        **labels_of(axes),
        "weights": packed(masked_out(values, allowed)),
        "notes": list(axes.query_notes),
        "unit": unit,
        "largest": bound_of(shown) if signed else largest,
        "logarithmic": logarithmic,
        "signed": signed,
        "least": least,
        "action": action,
        "choosable": on_cell is not None,
        "title": title or alt,
        "alt": sentences([as_sentence(alt), summary]),
    }
    component("attention_map", "ui/maps", key=key, cell=chosen, data=data)
    numbers({"": partial(map_table, shown, axes)}, summary=summary, key=key, alt=alt)


def draw_heads(
    maps: NDArray[np.float32],
    allowed: NDArray[np.bool_],
    *,
    chosen: tuple[int, int | None],
    largest: float = 1.0,
    logarithmic: bool = False,
    key: str,
    alt: str,
    title: str = "",
    on_open: OpenHead,
) -> None:
    """Draw all heads small, each a button, and the button for how sharp each head is.

    Args:
        maps: (L, H, T, S).
        allowed: (L, T, S), False where masked.
        chosen: The layer, and the head or None for all heads of the layer, counted from 0.
        largest: Upper end of the colour scale.
        logarithmic: The colour scale is logarithmic.
        key: The name of the picture on the page.
        alt: Text for a reader who cannot see it, without a full stop. The summary of its numbers is added.
        title: Title of the saved picture; by default `alt`.
        on_open: Called with the layer and the head that were chosen.
    """
    summary = overview_summary(maps)
    data = {
        **tiles(maps, allowed, largest=largest, logarithmic=logarithmic),
        "chosen": list(chosen),
        "title": title or alt,
        "alt": sentences([as_sentence(alt), summary]),
    }
    component("head_grid", "ui/maps", key=key, open=opening(on_open), data=data)
    numbers({"": partial(overview_table, maps)}, summary=summary, key=key, alt=alt)


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

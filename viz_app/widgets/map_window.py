"""The section of a map that is too large to read as a whole. The visitor can move it, or go to a large weight."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.analysis.statistics import strongest
from viz_app.content.limits import WINDOW
from viz_app.content.numbers import decimal
from viz_app.content.plain import visible
from viz_app.content.translation import N_, t
from viz_app.figures.style import Axes
from viz_app.server.streamlit_bridge import DeltaGenerator
from viz_app.session.choices import set_choice, settle

__all__ = ["MapWindow", "choose_keys", "choose_window"]

MAX_WEIGHTS = 20  # in the list of large weights
Number = TypeVar("Number", bound=np.generic)
STARTS = ("window_row", "window_column")  # choices: the first query and the first key, counted from 1


@dataclass(frozen=True, kw_only=True)
class Unit:
    """The texts about what the cells of a map are, marked with `N_`."""

    largest: str
    section: str


UNITS = {
    "weights": Unit(
        largest=N_("Largest weights"), section=N_("The large map shows a {section} section of the {whole} weights.")
    ),
    "shares": Unit(
        largest=N_("Largest shares"), section=N_("The large map shows a {section} section of the {whole} shares.")
    ),
}


@dataclass(frozen=True, kw_only=True)
class MapWindow:
    """The section of a map. It is the whole map if that is small."""

    query: int  # the first one, counted from 0
    key: int
    whole: bool

    def of(self, maps: NDArray[Number]) -> NDArray[Number]:
        """The section of maps (…, T, S). A smaller map has the last section that fits."""
        if self.whole:
            return maps
        rows, keys = (self.part(start, size) for start, size in zip(self.starts, maps.shape[-2:], strict=True))
        return maps[..., rows, keys]

    def of_axes(self, axes: Axes) -> Axes:
        """The labels of the section."""
        if self.whole:
            return axes
        rows, keys = (
            self.part(start, len(labels)) for start, labels in zip(self.starts, (axes.queries, axes.keys), strict=True)
        )
        return replace(axes, queries=axes.queries[rows], keys=axes.keys[keys], query_notes=axes.query_notes[rows])

    @property
    def starts(self) -> tuple[int, int]:
        return self.query, self.key

    @staticmethod
    def part(start: int, size: int) -> slice:
        first = max(min(start, size - WINDOW), 0)
        return slice(first, first + WINDOW)


def choose_window(weights: NDArray[np.floating], axes: Axes, *, unit: str = "weights") -> MapWindow:
    """Ask which section of a map (T, S) to show. A small map is shown as a whole, without controls.

    Args:
        weights: The map.
        axes: The labels of its rows and columns.
        unit: What its cells are, one of `UNITS`.
    """
    sizes = weights.shape
    if max(sizes) <= WINDOW:
        return MapWindow(query=0, key=0, whole=True)
    columns = iter(st.columns(1 + sum(size > WINDOW for size in sizes), vertical_alignment="bottom"))
    starts = []
    for name, title, size in zip(STARTS, (t("First query"), t("First key")), sizes, strict=True):
        starts.append(0 if size <= WINDOW else first_of(name, title, size, next(columns)))
    cells = strongest(weights, MAX_WEIGHTS)
    # The session keeps the arguments of a widget: texts and numbers, never the maps.
    next(columns).selectbox(
        t(UNITS[unit].largest),
        range(len(cells)),
        index=None,
        format_func=[weight_name(cell, axes) for cell in cells].__getitem__,
        key="strongest",
        placeholder=t("Go to one"),
        on_change=go_to_weight,
        args=(tuple((query, key) for query, key, _ in cells), sizes),
    )
    height, width = (min(size, WINDOW) for size in sizes)
    section, whole = f"{height} × {width}", f"{sizes[0]} × {sizes[1]}"
    st.caption(t(UNITS[unit].section, section=section, whole=whole))
    return MapWindow(query=starts[0], key=starts[1], whole=False)


def choose_keys(size: int) -> slice:
    """Ask which keys a picture with a row for each key shows. Few keys are all shown, without a control."""
    if size <= WINDOW:
        return slice(None)
    start = first_of(STARTS[1], t("First key"), size, st.columns(2)[0])
    st.caption(t("The pictures show {shown} of the {all} keys.", shown=WINDOW, all=size))
    return slice(start, start + WINDOW)


def first_of(name: str, title: str, size: int, place: DeltaGenerator) -> int:
    """Ask for the first query or key of a section, counted from 0."""
    last = size - WINDOW + 1
    settle(name, 1, range(1, last + 1))
    chosen: int = place.slider(t("{title} (of {size})", title=title, size=size), 1, last, key=name)
    return chosen - 1


def weight_name(cell: tuple[int, int, float], axes: Axes) -> str:
    query, key, weight = cell
    return f"{decimal(weight, digits=3)} · {visible(axes.queries[query])} → {visible(axes.keys[key])}"


def go_to_weight(cells: Sequence[tuple[int, int]], sizes: Sequence[int]) -> None:
    """Callback: move the section so that the chosen weight is in its middle."""
    number = st.session_state["strongest"]
    if number is None:
        return
    st.session_state["strongest"] = None
    for name, index, size in zip(STARTS, cells[number], sizes, strict=True):
        set_choice(name, 1 + max(0, min(index - WINDOW // 2, size - WINDOW)))

"""The section of a map that is too large to read as a whole. The visitor can move it, or go to a large weight."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from model.analysis.statistics import strongest
from viz_app.components.attention_view import AttentionView, ChosenMap
from viz_app.content.plain import visible
from viz_app.session.choices import set_choice, settle

__all__ = ["WINDOW", "map_window"]

WINDOW = 40  # tokens per side whose labels can be read
MAX_WEIGHTS = 20  # in the list of large weights
STARTS = ("window_row", "window_column")  # choices: the first query and the first key, counted from 1


def map_window(shown: AttentionView, chosen: ChosenMap) -> tuple[AttentionView, ChosenMap]:
    """Ask which section of a large map to show.

    Returns:
        That section of the view and of the chosen map, with its labels and exact weights; a small map as a whole.
    """
    sizes = chosen.weights.shape
    if max(sizes) <= WINDOW:
        return shown, chosen
    starts = section_controls(shown, chosen)
    rows, keys = (slice(start, start + WINDOW) for start in starts)
    height, width = (min(size, WINDOW) for size in sizes)
    st.caption(f"The large map shows a {height} × {width} section of the {sizes[0]} × {sizes[1]} weights.")
    axes = replace(
        shown.axes,
        queries=shown.axes.queries[rows],
        keys=shown.axes.keys[keys],
        query_notes=shown.axes.query_notes[rows],
    )
    view = replace(shown, maps=shown.maps[:, :, rows, keys], axes=axes, allowed=shown.allowed[:, rows, keys])
    weights, allowed = chosen.weights[rows, keys], chosen.allowed[rows, keys]
    return view, replace(chosen, weights=weights, allowed=allowed, meaning="A section of a larger map.")


def section_controls(shown: AttentionView, chosen: ChosenMap) -> list[int]:
    """Ask for the first query and the first key, or for a large weight; returns the two, counted from 0."""
    sizes = chosen.weights.shape
    columns = iter(st.columns(1 + sum(size > WINDOW for size in sizes), vertical_alignment="bottom"))
    starts = []
    for name, title, size in zip(STARTS, ("First query", "First key"), sizes, strict=True):
        last = max(size - WINDOW, 0) + 1
        settle(name, 1, range(1, last + 1))
        start = 1 if last == 1 else next(columns).slider(f"{title} (of {size})", 1, last, key=name)
        starts.append(start - 1)
    cells = strongest(chosen.weights, MAX_WEIGHTS)
    # The session keeps the arguments of a widget: texts and numbers, never the maps.
    next(columns).selectbox(
        "Largest weights",
        range(len(cells)),
        index=None,
        format_func=[weight_name(cell, shown) for cell in cells].__getitem__,
        key="strongest",
        placeholder="Go to one",
        on_change=go_to_weight,
        args=(tuple((query, key) for query, key, _ in cells), sizes),
    )
    return starts


def weight_name(cell: tuple[int, int, float], shown: AttentionView) -> str:
    query, key, weight = cell
    return f"{weight:.3f} · {visible(shown.axes.queries[query])} → {visible(shown.axes.keys[key])}"


def go_to_weight(cells: Sequence[tuple[int, int]], sizes: Sequence[int]) -> None:
    """Callback: move the section so that the chosen weight is in its middle."""
    number = st.session_state["strongest"]
    if number is None:
        return
    st.session_state["strongest"] = None
    for name, index, size in zip(STARTS, cells[number], sizes, strict=True):
        set_choice(name, 1 + max(0, min(index - WINDOW // 2, size - WINDOW)))

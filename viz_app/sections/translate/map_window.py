"""A part of a map that is too large to be read whole: it can be moved, and finds the strongest weights."""

from collections.abc import Sequence
from dataclasses import replace

import streamlit as st

from model.analysis.statistics import strongest
from viz_app.components.attention_view import AttentionView, ChosenMap
from viz_app.content.plain import visible
from viz_app.session.choices import set_choice, settle

__all__ = ["WINDOW", "map_window"]

WINDOW = 40  # tokens a side whose labels can be read
FOUND = 20  # strongest weights on offer


def map_window(shown: AttentionView, chosen: ChosenMap) -> tuple[AttentionView, ChosenMap]:
    """Ask which part of a large map is to be seen.

    Returns:
        That part of the view and of the chosen map, with its own labels and exact weights; all of a small one.
    """
    sizes = chosen.weights.shape
    if max(sizes) <= WINDOW:
        return shown, chosen
    cells = strongest(chosen.weights, FOUND)
    starts = []
    columns = iter(st.columns(1 + sum(size > WINDOW for size in sizes), vertical_alignment="bottom"))
    for name, title, size in zip(("window_row", "window_column"), ("Queries from", "Keys from"), sizes, strict=True):
        last = max(size - WINDOW, 0)
        settle(name, 1, range(1, last + 2))
        start = 1 if not last else next(columns).slider(f"{title} (of {size})", 1, last + 1, key=name)
        starts.append(start - 1)
    # The session keeps what a widget is given: texts and numbers, never the maps.
    next(columns).selectbox(
        "Strongest weights",
        range(len(cells)),
        index=None,
        format_func=[described(cell, shown) for cell in cells].__getitem__,
        key="strongest",
        placeholder="Find one",
        on_change=go_to,
        args=(tuple((query, key) for query, key, _ in cells), sizes),
    )
    rows, keys = (slice(start, start + WINDOW) for start in starts)
    queries, looked_at = (min(size, WINDOW) for size in sizes)
    st.caption(
        f"This text is long: of {sizes[0]} × {sizes[1]} weights the large map shows {queries} × {looked_at}, exactly."
    )
    axes = replace(
        shown.axes,
        queries=shown.axes.queries[rows],
        keys=shown.axes.keys[keys],
        query_notes=shown.axes.query_notes[rows],
    )
    part = replace(shown, maps=shown.maps[:, :, rows, keys], axes=axes, allowed=shown.allowed[:, rows, keys])
    cut = chosen.weights[rows, keys], chosen.allowed[rows, keys]
    return part, replace(chosen, weights=cut[0], allowed=cut[1], meaning="A window of a larger map.")


def described(cell: tuple[int, int, float], shown: AttentionView) -> str:
    query, key, weight = cell
    return f"{weight:.3f} · {visible(shown.axes.queries[query])} → {visible(shown.axes.keys[key])}"


def go_to(cells: Sequence[tuple[int, int]], sizes: Sequence[int]) -> None:
    """Callback: the chosen weight comes into the middle of the window."""
    found = st.session_state["strongest"]
    if found is None:
        return
    st.session_state["strongest"] = None
    for name, at, size in zip(("window_row", "window_column"), cells[found], sizes, strict=True):
        set_choice(name, 1 + max(0, min(at - WINDOW // 2, size - WINDOW)))

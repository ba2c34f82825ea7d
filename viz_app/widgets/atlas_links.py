"""Links from a head and from a cell of its map to the atlas, where the checkpoint has one."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.inference.run import Result
from model.interventions import Head
from viz_app.content.plain import isolated, plain
from viz_app.content.translation import t
from viz_app.figures.style import Axes
from viz_app.services.atlases import like_cell, shown_atlas
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import clear_choice, set_choice
from viz_app.widgets.charts import draw_map
from viz_app.widgets.head_picker import MapWindow
from viz_app.widgets.navigation import go_to

__all__ = ["MapOf", "atlas_links", "cell_chooser", "draw_head_map", "links_of_cell", "open_in_atlas", "places_like"]

CELL = "atlas_cell"  # in the session: the picture, what it shows, and the cell of it that the visitor chose
ChooseCell = Callable[[Head, int, int], None]  # called with a head, the query and the key


@dataclass(frozen=True, kw_only=True)
class MapOf:
    """Whose weights a map has.

    Attributes:
        checkpoint: Of the head.
        head: The head.
        result: Whose map it is.
        padding: How many tokens of padding stand before the text, on both axes.
    """

    checkpoint: CheckpointKey
    head: Head
    result: Result
    padding: int = 0


def draw_head_map(
    weights: NDArray[np.float32],
    axes: Axes,
    allowed: NDArray[np.bool_],
    *,
    window: MapWindow,
    of: MapOf | None,
    key: str,
    on_cell: Callable[[int, int], None] | None = None,
    **how: Any,
) -> None:
    """Draw the section of a map. Below it are links to the atlas: to the head, and to places like the chosen cell.

    Where choosing a cell does something else, only the head has a link.

    Args:
        weights: (T, S).
        axes: Names of the rows and columns.
        allowed: (T, S), False where masked.
        window: The section.
        of: Whose weights they are; None where a cell is no weight of one head.
        key: The name of the picture on the page.
        on_cell: What choosing a cell does instead, with the query and the key in the whole map.
        how: Other arguments of `draw_map`.
    """
    linked = None if of is None or shown_atlas(of.checkpoint) is None else of
    rows, columns = window.starts_in(*weights.shape)
    choose = on_cell  # the session keeps it, so it must not close over the result
    if linked and not on_cell:
        remember = cell_chooser(linked.checkpoint, linked.head.kind, linked.result, key)
        choose, rows, columns = partial(remember, linked.head), rows - linked.padding, columns - linked.padding
    draw_map(
        window.of(weights),
        window.of_axes(axes),
        window.of(allowed),
        key=key,
        on_cell=choose and (lambda row, column: choose(row + rows, column + columns)),
        **how,
    )
    if not linked:
        return
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        atlas_links(linked.checkpoint, linked.head, key)
        if on_cell is None:
            links_of_cell(linked.checkpoint, linked.head.kind, linked.result, key, head=linked.head)


def cell_chooser(checkpoint: CheckpointKey, kind: str, result: Result, picture: str) -> ChooseCell:
    """What choosing a cell of a picture does: the links below it lead to places like it."""
    shown = shown_in(checkpoint, kind, result, picture)  # the session keeps texts, and not the maps
    *_, queries, keys = shown

    def choose(head: Head, query: int, key: int) -> None:
        if 0 <= query < len(queries) and 0 <= key < len(keys):  # other cells are padding
            st.session_state[CELL] = shown, (head, query, key)

    return choose


def shown_in(checkpoint: CheckpointKey, kind: str, result: Result, picture: str) -> tuple[Any, ...]:
    """What a picture shows; last the texts of the queries and of the keys."""
    return picture, checkpoint, kind, *(tuple(token.text for token in side) for side in result.tokens_of(kind))


def atlas_links(checkpoint: CheckpointKey, head: Head, picture: str = "") -> None:
    """Draw the link to a head in the atlas. Without an atlas, nothing is drawn."""
    if shown_atlas(checkpoint) is not None:
        link(t("In the atlas"), checkpoint, head, key=f"in_the_atlas_{picture}")


def links_of_cell(
    checkpoint: CheckpointKey, kind: str, result: Result, picture: str, *, head: Head | None = None
) -> None:
    """Draw the link to places like the cell of a picture that the visitor chose, or say that one can be chosen.

    Args:
        checkpoint: Without an atlas, nothing is drawn.
        kind: Of attention, whose weights the cells are.
        result: Whose tokens they belong to.
        picture: Its key.
        head: The head that it shows; None if it shows all.
    """
    if shown_atlas(checkpoint) is None:
        return
    shown, cell = st.session_state.get(CELL, (None, None))
    if shown != shown_in(checkpoint, kind, result, picture) or (head and cell[0] != head):
        st.caption(t("Choose a cell to find places like it in the atlas."))
        return
    chosen, query, key = cell
    places_like(checkpoint, chosen, result, query, key, picture)


def places_like(checkpoint: CheckpointKey, head: Head, result: Result, query: int, key: int, picture: str = "") -> None:
    """Draw the link to places like a cell of the map of a head. Without an atlas, nothing is drawn."""
    if shown_atlas(checkpoint) is None:
        return
    queries, keys = result.tokens_of(head.kind)
    named = {"query": queries[query].text, "key": keys[key].text}
    label = t("Places like {query} → {key}", **{side: plain(isolated(text)) for side, text in named.items()})
    link(label, checkpoint, head, like_cell(result, head.kind, query, key), key=f"places_like_{picture}")


def link(label: str, checkpoint: CheckpointKey, head: Head, like: str = "", *, key: str) -> None:
    callback = partial(open_in_atlas, head, like, checkpoint=checkpoint.name)
    st.button(label, icon=":material/map:", type="tertiary", key=key, on_click=callback)


def open_in_atlas(head: Head | None = None, like: str = "", rule: str = "", checkpoint: str = "") -> None:
    """Callback: show a head in the atlas, or the heads of a rule; of the chosen checkpoint, or of another one."""
    name = head.code if head else ""
    for choice, value in {"atlas_head": name, "atlas_like": like, "atlas_rule": rule, "atlas_second": ""}.items():
        if value:
            set_choice(choice, value)
        else:
            clear_choice(choice)
    if checkpoint and checkpoint != st.session_state.get("checkpoint"):
        set_choice("checkpoint", checkpoint)
    go_to("atlas")

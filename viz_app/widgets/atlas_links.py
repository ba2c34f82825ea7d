"""Links from a head and from a cell of its map to the atlas, where the checkpoint has one."""

from collections.abc import Callable
from functools import partial

import streamlit as st

from model.inference.run import Result
from model.interventions import Head
from viz_app.content.direction import isolated
from viz_app.content.plain import plain
from viz_app.content.translation import t
from viz_app.services.atlases import like_cell, shown_atlas
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import clear_choice, set_choice
from viz_app.widgets.navigation import go_to

__all__ = ["atlas_links", "cell_chooser", "name_of", "open_in_atlas"]

CELL = "atlas_cell"  # in the session: the head, and the query and the key that the visitor chose in its map


def name_of(head: Head) -> str:
    """The name of a head in a link, counted from 1."""
    return f"{head.kind}.{head.layer + 1}.{head.head + 1}"


def cell_chooser(head: Head, result: Result, starts: tuple[int, int] = (0, 0)) -> Callable[[int, int], None]:
    """What choosing a cell does: the links below the map lead to places like it.

    Args:
        head: Whose map it is.
        result: Whose maps they are.
        starts: The first query and the first key of the map.
    """
    tokens = tokens_of(head, result)  # the session keeps them, and not the maps

    def choose(query: int, key: int) -> None:
        st.session_state[CELL] = (head, tokens, query + starts[0], key + starts[1])

    return choose


def atlas_links(key: CheckpointKey, head: Head, result: Result | None = None) -> None:
    """Draw the link to a head in the atlas, and to places like the cell that the visitor chose.

    Args:
        key: Of the checkpoint. Without an atlas, nothing is drawn.
        head: The head that is shown.
        result: Whose map has the cells; None where no cell can be chosen.
    """
    if shown_atlas(key) is None:
        return
    with st.container(horizontal=True, gap="small"):
        link(t("In the atlas"), head)
        if result is None:
            return
        chosen, of, query, key_at = st.session_state.get(CELL, (None, (), 0, 0))
        tokens = tokens_of(head, result)
        if (chosen, of) == (head, tokens):
            shown = [plain(isolated(tokens[side][at])) for side, at in enumerate((query, key_at))]
            label = t("Places like {query} → {key}", query=shown[0], key=shown[1])
            link(label, head, like_cell(result, head.kind, query, key_at))
        else:
            st.caption(t("Choose a cell to find places like it in the atlas."))


def tokens_of(head: Head, result: Result) -> tuple[tuple[str, ...], ...]:
    """The texts of the queries and of the keys of a head."""
    return tuple(tuple(token.text for token in side) for side in result.tokens_of(head.kind))


def link(label: str, head: Head, like: str = "") -> None:
    key = f"in_the_atlas_{'like' if like else 'head'}"
    callback = partial(open_in_atlas, head, like)
    st.button(label, icon=":material/map:", type="tertiary", key=key, on_click=callback)


def open_in_atlas(head: Head | None = None, like: str = "", rule: str = "") -> None:
    """Callback: show a head in the atlas, or the heads of a rule."""
    name = name_of(head) if head else ""
    for choice, value in {"atlas_head": name, "atlas_like": like, "atlas_rule": rule, "atlas_second": ""}.items():
        if value:
            set_choice(choice, value)
        else:
            clear_choice(choice)
    go_to("atlas")

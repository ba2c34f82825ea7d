"""Attention as maps: one large map, the grid of all heads, the snapshots of a training run."""

from collections.abc import Callable

import streamlit as st

from viz_app.components.data.maps import HeadGrid, LargeMap
from viz_app.components.data.training_player import TrainingFilm
from viz_app.components.mounting import component

__all__ = ["attention_map", "head_grid", "training_player"]

OpenHead = Callable[[int, int], None]  # called with the layer and the head that were chosen, counted from 0


def attention_map(large: LargeMap, *, key: str) -> None:
    """Draw one map large; the browser draws it faster than a chart."""
    component("attention_map")(key=key, data=large.data())


def head_grid(grid: HeadGrid, *, key: str, on_open: OpenHead) -> None:
    """Draw all layers and heads small; each is a button."""
    component("head_grid")(key=key, on_open_change=opening(key, on_open), data=grid.data())


def training_player(film: TrainingFilm, *, key: str, on_open: OpenHead, on_snapshot: Callable[[int], None]) -> None:
    """Go through the snapshots of a training run: a play button and a slider, all heads small and one large.

    The browser plays by itself. The page runs again when the visitor stays at a snapshot or chooses another head.

    Args:
        film: The snapshots.
        key: Of the component.
        on_open: Called with the layer and the head that were chosen.
        on_snapshot: Called with the number of the snapshot at which the visitor stays, counted from 0.
    """
    component("training_player")(
        key=key,
        on_open_change=opening(key, on_open),
        on_snapshot_change=lambda: on_snapshot(int(st.session_state[key]["snapshot"])),
        data=film.data(),
    )


def opening(key: str, on_open: OpenHead) -> Callable[[], None]:
    """The callback of a component in which the visitor chooses a head."""

    def opened() -> None:
        clicked = st.session_state[key]["open"]
        on_open(int(clicked["layer"]), int(clicked["head"]))

    return opened

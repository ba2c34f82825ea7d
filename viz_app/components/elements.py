"""Pictures that a person touches: small web components of our own, each a file of JavaScript in `assets/`.

They are mounted in the page itself, without a frame, and ask no host for anything. They are built once and then
updated. Every text is set as text, never as markup; colours are those of the figures. What they are told stands in
`data.py`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from typing import Any

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.analysis.source_code import CodeLine
from model.analysis.station import Step
from model.inference.search_tree import SearchTree
from model.inference.translation import Translation
from viz_app.components.data import (
    Snapshot,
    derivation_data,
    head_map_data,
    head_sheet_data,
    line_view_data,
    stepper_data,
    training_view_data,
)
from viz_app.components.scripts import asset
from viz_app.figures.architecture import Drawing
from viz_app.figures.style import Axes

__all__ = [
    "architecture_map",
    "beam_tree",
    "derivation",
    "head_board",
    "head_map",
    "head_sheet",
    "key_choice",
    "line_view",
    "stepper",
    "training_view",
]

FloatArray = NDArray[np.float32]


@cache
def component(name: str, *with_: str) -> Any:
    code = asset("common.js", *(f"{other}.js" for other in (*with_, name)))
    style = asset("components.css", "save.css")
    return st.components.v2.component(f"headlight_{name}", html='<div class="root"></div>', css=style, js=code)


def key_choice() -> None:
    """A switch for the one key that does something by itself."""
    component("key_choice")(key="key_choice")


def line_view(
    maps: FloatArray, axes: Axes, *, rows: Sequence[str], chosen: Sequence[int], largest: float, alt: str, key: str
) -> None:
    """Draw maps as lines from queries (left) to keys (right), any mix of them at once.

    Args:
        maps: (R, C, T, S): R rows of C switches, such as layers and their heads.
        axes: Labels.
        rows: Names of the rows.
        chosen: Numbers of the maps that are on at first, counted row by row.
        largest: The weight that is drawn thickest.
        alt: For who cannot see it.
        key: Of the component.
    """
    data = line_view_data(maps, axes, rows=rows, chosen=chosen, largest=largest, alt=alt)
    component("line_view")(key=key, data=data)


def stepper(
    translation: Translation,
    *,
    kind: str,
    key: str,
    on_force: Callable[[int, int], None],
    on_step: Callable[[int], None],
    step: int | None = None,
    guess: bool = False,
) -> None:
    """Walk through a decode: a slider and a play button, the prefix, ten candidates, and one row of every head's map.

    Args:
        translation: With its maps.
        kind: "cross" or "decoder", whose rows are shown.
        key: Of the component.
        on_force: Called with a position and a target id when another candidate is clicked.
        on_step: Called with the step that one stays at.
        step: The one that is shown at first, counted from 0; the first that the model chose.
        guess: Words and candidates are hidden until they are asked for.
    """

    def forced() -> None:
        chosen = st.session_state[key]["force"]
        on_force(int(chosen["position"]), int(chosen["id"]))

    component("stepper")(
        key=key,
        on_force_change=forced,
        on_step_change=lambda: on_step(int(st.session_state[key]["step"])),
        data=stepper_data(translation, kind=kind, step=step, guess=guess),
    )


def head_sheet(
    maps: FloatArray,
    allowed: NDArray[np.bool_],
    *,
    chosen: tuple[int, int | None],
    largest: float,
    logarithmic: bool,
    title: str,
    alt: str,
    key: str,
    on_open: Callable[[int, int], None],
) -> None:
    """Draw every layer and head small, each a button.

    Args:
        maps: (L, H, T, S).
        allowed: (T, S), False where the mask forbids.
        chosen: Layer, and head or None for all of the layer, counted from 0.
        largest: Upper end of the colour scale.
        logarithmic: The colour scale.
        title: Of a saved picture.
        alt: For a person who cannot see it.
        key: Of the component.
        on_open: Called with the layer and the head that were chosen.
    """

    def opened() -> None:
        clicked = st.session_state[key]["open"]
        on_open(int(clicked["layer"]), int(clicked["head"]))

    component("head_sheet", "sheet")(
        key=key,
        on_open_change=opened,
        data=head_sheet_data(
            maps, allowed, chosen=chosen, largest=largest, logarithmic=logarithmic, title=title, alt=alt
        ),
    )


def head_map(
    weights: FloatArray,
    axes: Axes,
    allowed: NDArray[np.bool_],
    *,
    unit: str,
    largest: float,
    logarithmic: bool,
    title: str,
    alt: str,
    key: str,
) -> None:
    """Draw one map (T, S) large, with the exact number of each cell; the browser draws it faster than a chart.

    Args:
        weights: (T, S).
        axes: Labels.
        allowed: (T, S), False where the mask forbids.
        unit: What the numbers are.
        largest: Upper end of the colour scale.
        logarithmic: The colour scale.
        title: Of a saved picture.
        alt: For a person who cannot see it.
        key: Of the component.
    """
    component("head_map", "large_map", "sheet")(
        key=key,
        data=head_map_data(
            weights,
            axes,
            allowed,
            unit=unit,
            largest=largest,
            logarithmic=logarithmic,
            title=title,
            alt=alt,
        ),
    )


def training_view(
    snapshots: Sequence[Snapshot],
    axes: Axes,
    allowed: NDArray[np.bool_],
    *,
    kind: str,
    written: str,
    chosen: tuple[int, int],
    shown: int,
    key: str,
    on_open: Callable[[int, int], None],
    on_snapshot: Callable[[int], None],
) -> None:
    """Go through the snapshots of a training: a play button and a slider, all heads small and one large.

    The browser plays by itself; the page runs again once one stays at a snapshot, or chooses another head.

    Args:
        snapshots: In their order.
        axes: Labels of the large map.
        allowed: (T, S), False where the mask forbids.
        kind: One of `KINDS`.
        written: The language that the model writes.
        chosen: Layer and head of the large map, counted from 0.
        shown: The snapshot that is shown at first, counted from 0.
        key: Of the component.
        on_open: Called with the layer and the head that were chosen.
        on_snapshot: Called with the number of the snapshot that one stays at.
    """

    def opened() -> None:
        clicked = st.session_state[key]["open"]
        on_open(int(clicked["layer"]), int(clicked["head"]))

    component("training_view", "large_map", "sheet")(
        key=key,
        on_open_change=opened,
        on_snapshot_change=lambda: on_snapshot(int(st.session_state[key]["snapshot"])),
        data=training_view_data(snapshots, axes, allowed, kind=kind, written=written, chosen=chosen, shown=shown),
    )


def beam_tree(tree: SearchTree, *, lang: str, alt: str, key: str, on_pick: Callable[[int], None]) -> None:
    """Draw a beam search: kept, pruned and ended prefixes with their scores; `on_pick` gets the number of a node."""
    component("beam_tree")(
        key=key,
        on_pick_change=lambda: on_pick(int(st.session_state[key]["pick"])),
        data={"nodes": [asdict(node) for node in tree.nodes], "lang": lang, "alt": alt},
    )


def architecture_map(
    drawing: Drawing, *, stack: str, layer: int, key: str, on_open: Callable[[str, int], None]
) -> None:
    """Draw a model's architecture; one layer is lit.

    Args:
        drawing: From `architecture`.
        stack: "encoder" or "decoder", of the layer that is lit.
        layer: Counted from 0.
        key: Of the component.
        on_open: Called with the stack and the layer that was clicked.
    """

    def opened() -> None:
        clicked = st.session_state[key]["open"]
        on_open(str(clicked["stack"]), int(clicked["layer"]))

    component("architecture")(
        key=key,
        on_open_change=opened,
        data={
            **asdict(drawing),
            "stack": stack,
            "layer": layer,
            "alt": f"The model's layers; the {stack}'s layer {layer + 1} is shown",
        },
    )


def derivation(steps: Sequence[Step], code: Sequence[Sequence[CodeLine]], *, alt: str, title: str, key: str) -> None:
    """Lay the steps of a computation with their numbers beside its code; what is pointed at lights up in both.

    Args:
        steps: Each with its formula, its numbers and what there is to say of them.
        code: Functions; their lines name the steps.
        alt: What is computed.
        title: The same and of what, for a picture of it.
        key: Of the component.
    """
    component("derivation")(key=key, data=derivation_data(steps, code, alt=alt, title=title))


def head_board(
    states: Mapping[str, Sequence[Sequence[str]]],
    *,
    titles: Mapping[str, str],
    faces: Mapping[str, Sequence[Sequence[Mapping[str, object]]]],
    key: str,
    on_toggle: Callable[[str, int, int], None],
) -> None:
    """A grid of switches, one for every head.

    Args:
        states: Kind → (L, H) of "on", "off" or "uniform".
        titles: Kind → heading.
        faces: Kind → (L, H) of colour, ink, what is said of the head, and whether it decides a word; or nothing.
        key: Of the component.
        on_toggle: Called with kind, layer and head, counted from 0.
    """

    def clicked() -> None:
        for kind, layer, head in new_clicks(key):
            on_toggle(str(kind), int(layer), int(head))

    component("head_board")(
        key=key,
        on_clicks_change=clicked,
        data={
            "counted": st.session_state.get(f"{key}_counted", {}),
            "boards": [
                {
                    "kind": kind,
                    "title": titles[kind],
                    "states": [list(row) for row in rows],
                    "faces": [list(row) for row in faces.get(kind, ())],
                }
                for kind, rows in states.items()
            ],
        },
    )


def new_clicks(key: str) -> list[Any]:
    """What was clicked in the component of this key and is not counted yet, the oldest first; it is counted now."""
    sent, counted = st.session_state[key]["clicks"], st.session_state.get(f"{key}_counted", {})
    first = int(sent["first"])
    done = max(counted["clicks"] - first, 0) if counted.get("board") == sent["board"] else 0
    st.session_state[f"{key}_counted"] = {"board": sent["board"], "clicks": first + max(len(sent["places"]), done)}
    return list(sent["places"][done:])

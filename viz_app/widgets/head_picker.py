"""The pickers for a kind of attention, a layer, a head and the section of a large map.

Layers and heads count from 1 in the widgets and in links, and from 0 in code.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.analysis.statistics import strongest
from model.config.kinds import KINDS
from model.inference.opening import AnyConfig
from viz_app.content.numbers import decimal
from viz_app.content.plain import visible
from viz_app.content.shared import WINDOW
from viz_app.content.translation import N_, t
from viz_app.figures.style import Axes
from viz_app.server.streamlit_bridge import DeltaGenerator
from viz_app.session.choices import set_choice, settle
from viz_app.widgets.choosing import choose

__all__ = [
    "Aggregate",
    "MapWindow",
    "choose_keys",
    "choose_window",
    "clicked_head",
    "heads_per_kind",
    "open_head",
    "pick_head",
    "pick_head_or_aggregate",
    "pick_kind",
    "pick_kind_and_head",
    "pick_number",
    "picker_columns",
    "walk_heads",
]

Aggregate = Literal["mean", "max", "rollout"]
AGGREGATES: dict[Aggregate, str] = {"mean": N_("mean"), "max": N_("max"), "rollout": N_("rollout")}
WIDTHS = {"kind": 3.3, "view": 3.9, "head": 2.3, "query": 2.4, "slider": 1.6, "button": 1.9}
MAX_WEIGHTS = 20  # in the list of large weights
Number = TypeVar("Number", bound=np.generic)
STARTS = ("window_row", "window_column")  # choices: the first query and the first key, counted from 1
UNITS = {  # what the cells of a map are → the title of the list of the largest ones, a sentence about a section
    "weights": (N_("Largest weights"), N_("The large map shows a {section} section of the {whole} weights.")),
    "shares": (N_("Largest shares"), N_("The large map shows a {section} section of the {whole} shares.")),
}


def picker_columns(*names: str, key: str = "") -> list[DeltaGenerator]:
    """A row of columns for pickers, aligned at the bottom.

    Args:
        names: Names from `WIDTHS`, one for each column.
        key: The key of the row, which style sheets use.
    """
    place = st.container(key=key or None)
    return place.columns([WIDTHS[name] for name in names], vertical_alignment="bottom")


def heads_per_kind(config: AnyConfig) -> dict[str, tuple[int, int]]:
    """For each kind of attention of a model: the number of its layers and of the heads in a layer."""
    return {kind: (config.model.num_layers(kind), config.model.num_heads) for kind in config.model.kinds}


def pick_kind_and_head(
    columns: Sequence[DeltaGenerator],
    sizes: Mapping[str, tuple[int, int]],
    *,
    key: str = "kind",
    default: str = "cross",
) -> tuple[str, int, int]:
    """Choose a kind of attention, a layer and a head of it.

    Args:
        columns: The column of the kind, and that of layer and head; see `picker_columns`.
        sizes: Kind → number of layers, heads per layer; see `heads_per_kind`.
        key: The key of the kind.
        default: The kind until the visitor chooses one.
    """
    kind_column, head_column = columns
    with kind_column:
        kind = pick_kind(list(sizes), key=key, default=default)
    with head_column:
        return kind, *pick_head(*sizes[kind])


def pick_kind(kinds: Sequence[str], *, key: str = "kind", default: str = "cross") -> str:
    """Choose one of the kinds of attention of a model; `default` if it is one of them, else the first."""
    names = {kind: t(KINDS[kind].title) for kind in kinds}
    return choose(t("Attention"), names, key=key, default=default if default in kinds else None)


def pick_head(
    layers: int,
    heads: int,
    *,
    prefix: str = "",
    default: tuple[int, int] | None = None,
    labels: tuple[str, str] | None = None,
) -> tuple[int, int]:
    """Choose a layer and a head.

    Args:
        layers: How many layers there are.
        heads: How many heads a layer has.
        prefix: The beginning of the names of the two choices, where they are not the heads of the translator.
        default: Layer and head until the visitor chooses; by default the first head of the last layer.
        labels: The labels of the two choices; by default "Layer" and "Head".
    """
    usual_layer, usual_head = default or (layers - 1, 0)
    layer_label, head_label = labels or (t("Layer"), t("Head"))
    left, right = st.columns(2)
    layer = pick_number(layer_label, layers, key=f"{prefix}layer", default=usual_layer, place=left)
    return layer, pick_number(head_label, heads, key=f"{prefix}head", default=usual_head, place=right)


def pick_head_or_aggregate(layers: int, heads: int, *, aggregates: bool) -> tuple[int, int | Aggregate]:
    """Choose a layer, and a head of it or, with `aggregates`, a map made from all its heads."""
    left, right = st.columns(2)
    layer = pick_number(t("Layer"), layers, key="layer", default=layers - 1, place=left)
    names = {name: name for name in numbers(heads)}
    if aggregates:
        names |= {name: t(label) for name, label in AGGREGATES.items()}
    name = choose(t("Head"), names, key="head", place=right, listed=True)
    aggregate = next((one for one in AGGREGATES if one == name), None)
    return layer, int(name) - 1 if aggregate is None else aggregate


def pick_number(label: str, count: int, *, key: str, default: int, place: DeltaGenerator) -> int:
    """Choose one of some layers or heads, in a list."""
    names = {name: name for name in numbers(count)}
    return int(choose(label, names, key=key, default=str(default + 1), place=place, listed=True)) - 1


def clicked_head(layers: int, heads: int, *, prefix: str) -> tuple[int, int]:
    """The layer and the head that `open_head` chose, for a page without `pick_head`."""
    settle(f"{prefix}layer", str(layers), numbers(layers))
    settle(f"{prefix}head", "1", numbers(heads))
    return int(st.session_state[f"{prefix}layer"]) - 1, int(st.session_state[f"{prefix}head"]) - 1


def open_head(layer: int, head: int, *, prefix: str = "") -> None:
    """Choose a layer and a head, counted from 0."""
    set_choice(f"{prefix}layer", str(layer + 1))
    set_choice(f"{prefix}head", str(head + 1))


def walk_heads(layers: int, heads: int, step: int) -> None:
    """Choose the next head (1) or the previous head (-1), in the order of the page, row by row."""
    layer, head = int(st.session_state["layer"]) - 1, st.session_state["head"]
    index = layer * heads + (int(head) - 1 if head.isdecimal() else -(step > 0))
    open_head(*divmod((index + step) % (layers * heads), heads))


def numbers(count: int) -> list[str]:
    return [str(i + 1) for i in range(count)]


@dataclass(frozen=True, kw_only=True)
class MapWindow:
    """The section of a map. It is the whole map if that is small."""

    query: int  # the first one, counted from 0
    key: int
    whole: bool

    def of(self, maps: NDArray[Number]) -> NDArray[Number]:
        """The section of maps (…, T, S). A smaller map has the last section that fits."""
        rows, keys = self.slices(*maps.shape[-2:])
        return maps[..., rows, keys]

    def of_axes(self, axes: Axes) -> Axes:
        """The labels of the section."""
        rows, keys = self.slices(len(axes.queries), len(axes.keys))
        return replace(axes, queries=axes.queries[rows], keys=axes.keys[keys], query_notes=axes.query_notes[rows])

    @property
    def starts(self) -> tuple[int, int]:
        return self.query, self.key

    def starts_in(self, queries: int, keys: int) -> tuple[int, int]:
        """The first query and the first key of the section of a map, which may be smaller than the one it is of."""
        rows, columns = self.slices(queries, keys)
        return rows.start or 0, columns.start or 0

    def slices(self, queries: int, keys: int) -> tuple[slice, slice]:
        if self.whole:
            return slice(None), slice(None)
        row, column = (max(min(at, n - WINDOW), 0) for at, n in zip(self.starts, (queries, keys), strict=True))
        return slice(row, row + WINDOW), slice(column, column + WINDOW)


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
    largest, sentence = UNITS[unit]
    columns = iter(st.columns(1 + sum(size > WINDOW for size in sizes), vertical_alignment="bottom"))
    starts = []
    for name, title, size in zip(STARTS, (t("First query"), t("First key")), sizes, strict=True):
        starts.append(0 if size <= WINDOW else first_of(name, title, size, next(columns)))
    cells = strongest(weights, MAX_WEIGHTS)
    # The session keeps the arguments of a widget: texts and numbers, never the maps.
    next(columns).selectbox(
        t(largest),
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
    st.caption(t(sentence, section=section, whole=whole))
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

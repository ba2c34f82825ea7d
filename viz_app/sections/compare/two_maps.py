"""One attention map of each side, on the same scale."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.config.kinds import KINDS
from viz_app.components.attention_view import AttentionView, select_head, view
from viz_app.content.numbers import sentences
from viz_app.content.plain import plain
from viz_app.content.translation import t
from viz_app.figures.attention import head_map
from viz_app.sections.compare.same_words import TwoRuns
from viz_app.services.comparison import Side
from viz_app.widgets.charts import draw
from viz_app.widgets.head_picker import pick_head, pick_kind, picker_columns
from viz_app.widgets.headings import section
from viz_app.widgets.map_window import MapWindow, choose_window

__all__ = ["MapPair", "two_maps"]

# In pixels: a row with its word, the labels below a map, the lowest and the highest map.
ROW, LABELS, MIN_HEIGHT, MAX_HEIGHT = 16, 88, 260, 480


@dataclass(frozen=True, kw_only=True)
class MapPair:
    """The maps of both sides for one kind of attention, and the head of each that is drawn."""

    kind: str
    views: tuple[AttentionView, AttentionView]
    heads: tuple[tuple[int, int], tuple[int, int]]  # layer and head, counted from 0
    window: MapWindow  # the section that is drawn

    @property
    def weights(self) -> list[NDArray[np.float32]]:
        """The two maps that are drawn, each (T, S)."""
        return [self.window.of(select_head(one.maps, *head)) for one, head in zip(self.views, self.heads, strict=True)]

    @property
    def allowed(self) -> list[NDArray[np.bool_]]:
        """Their masks, each (T, S)."""
        return [self.window.of(one.allowed[layer]) for one, (layer, _) in zip(self.views, self.heads, strict=True)]

    @property
    def have_same_heads(self) -> bool:
        return self.views[0].maps.shape[:2] == self.views[1].maps.shape[:2]

    @property
    def height(self) -> int:
        """Pixels of a map: as low as its words allow, so that both end on the first screen of a projector."""
        rows = max(len(weights) for weights in self.weights)
        return max(MIN_HEIGHT, min(MAX_HEIGHT, LABELS + ROW * rows))


def two_maps(left: Side, right: Side, runs: TwoRuns, kinds: Sequence[str]) -> MapPair:
    """Ask for a kind of attention, a head and a section of a large map, and draw the map of each side.

    Args:
        left: One side.
        right: The other side.
        runs: Their runs.
        kinds: The kinds of attention that both models have.
    """
    pair = choose_maps(runs, kinds)
    section(t("Two maps, one scale"), t(KINDS[pair.kind].shows))
    for number, (column, side) in enumerate(zip(st.columns(2), (left, right), strict=True)):
        with column:
            one_map(pair, number, side, forced=runs.forced and side is right)
    return pair


def choose_maps(runs: TwoRuns, kinds: Sequence[str]) -> MapPair:
    """Ask for a kind of attention, and for a head; for one head of each side if the models differ in size."""
    kind_column, left_column, right_column = picker_columns("kind", "head", "head", key="set_compared_heads")
    with kind_column:
        kind = pick_kind(kinds)
    left, right = (view(run, kind, merge=not runs.same_tokens, hide_special=False) for run in (runs.left, runs.right))
    same = left.maps.shape[:2] == right.maps.shape[:2]
    with left_column:
        head = pick_head(
            *left.maps.shape[:2], labels=(t("Layer"), t("Head")) if same else (t("Left layer"), t("Left head"))
        )
    if same:
        other = head
    else:
        with right_column:
            other = pick_head(*right.maps.shape[:2], prefix="beside_", labels=(t("Right layer"), t("Right head")))
    views, heads = (left, right), (head, other)
    return MapPair(kind=kind, views=views, heads=heads, window=window_of(views, heads))


def window_of(views: Sequence[AttentionView], heads: Sequence[tuple[int, int]]) -> MapWindow:
    """Ask for a section of the larger map. The other map shows the same section."""
    larger, head = max(zip(views, heads, strict=True), key=lambda one: max(one[0].maps.shape[2:]))
    return choose_window(select_head(larger.maps, *head), larger.axes)


def one_map(pair: MapPair, number: int, side: Side, *, forced: bool) -> None:
    layer, head = pair.heads[number]
    shown = t("**{name}**, layer {layer} · head {head}.", name=plain(side.name), layer=layer + 1, head=head + 1)
    st.caption(sentences([shown, t("It is forced to write the words of the left one.")]) if forced else shown)
    draw(
        head_map(
            pair.weights[number],
            pair.window.of_axes(pair.views[number].axes),
            pair.allowed[number],
            height=pair.height,
        ),
        key=f"map_of_{('left', 'right')[number]}",
        fills=True,
        alt=t(
            "Heatmap of the attention of {name}, layer {layer}, head {head}",
            name=side.name,
            layer=layer + 1,
            head=head + 1,
        ),
    )

"""Choose which attention map the page shows, and how."""

from dataclasses import dataclass
from functools import partial
from typing import Literal

import streamlit as st

from model.config.model import RecurrentConfig
from model.inference.opening import AnyConfig
from model.inference.run import Run
from viz_app.components.attention_view import (
    AttentionView,
    ChosenMap,
    chosen_map,
    view,
    with_rollout,
    with_value_norms,
)
from viz_app.content.translation import N_, t, worded
from viz_app.server.streamlit_bridge import DeltaGenerator
from viz_app.services import head_analyses, loading, results
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import settle
from viz_app.widgets.head_picker import (
    Aggregate,
    pick_head,
    pick_head_or_aggregate,
    pick_kind,
    picker_columns,
    walk_heads,
)
from viz_app.widgets.presenter_mode import step_buttons

__all__ = ["VIEWS", "MapChoice", "choose_map", "why_no_value_norms"]

View = Literal["heatmaps", "lines", "head", "model"]
VIEWS: dict[View, str] = {
    "heatmaps": N_("Heatmaps"),
    "lines": N_("Lines"),
    "head": N_("BertViz heads"),
    "model": N_("BertViz model"),
}
OPTIONS = ("merge", "hide_special", "norms", "logarithmic")  # switched below the pictures


@dataclass(frozen=True, kw_only=True)
class MapChoice:
    """The maps of one kind of attention, the one map that is drawn large, and how they are drawn."""

    kind: str
    layer: int  # counted from 0
    head: int | Aggregate  # counted from 0
    how: View
    merged: bool  # subwords are merged into words
    without_special: bool
    weighted: bool  # by value norms
    logarithmic: bool
    maps: AttentionView  # of all layers and heads
    large: ChosenMap

    @property
    def as_written(self) -> bool:
        """Whether the large map has a row and a column for each token, with the attention weights."""
        return not (self.merged or self.without_special or self.weighted)


def choose_map(key: CheckpointKey, run: Run) -> MapChoice:
    """Ask for the kind of attention, the view, the layer and the head.

    Args:
        key: The key of a checkpoint with at least one kind of attention.
        run: The run.
    """
    config, translation = loading.config_of(key), results.result_of(key, run)
    kind_column, view_column, head_column = picker_columns("kind", "view", "head", key="set_view")
    for option in OPTIONS:
        settle(option, False)
    weighted = st.session_state["norms"] and not why_no_value_norms(key)
    with kind_column:
        kind = pick_kind(config.model.kinds)
    settle("view", "heatmaps", VIEWS)
    how = view_column.segmented_control(
        t("View"), list(VIEWS), format_func=lambda how: t(VIEWS[how]), required=True, key="view"
    )
    tokens = {"merge": st.session_state["merge"], "hide_special": st.session_state["hide_special"]}
    norms = head_analyses.value_norms_of(key, run) if weighted else None
    maps = view(translation if norms is None else with_value_norms(translation, norms), kind, **tokens)
    layer, head = choose_head(head_column, config, maps)
    rolled = view(with_rollout(translation), kind, **tokens) if head == "rollout" else None
    return MapChoice(
        kind=kind,
        layer=layer,
        head=head,
        how=how or "heatmaps",
        merged=tokens["merge"],
        without_special=tokens["hide_special"],
        weighted=weighted,
        logarithmic=st.session_state["logarithmic"],
        maps=maps,
        large=chosen_map(maps, rolled, layer, head, weighted=weighted),
    )


def choose_head(column: DeltaGenerator, config: AnyConfig, maps: AttentionView) -> tuple[int, int | Aggregate]:
    layers, heads = maps.maps.shape[:2]
    with column:
        recurrent = isinstance(config.model, RecurrentConfig)
        layer, head = (pick_head if recurrent else pick_head_or_aggregate)(layers, heads)
    step_buttons(partial(walk_heads, layers, heads))
    return layer, head


def why_no_value_norms(key: CheckpointKey) -> str:
    """Why weights cannot be multiplied by value norms, as a text for the visitor; empty where they can."""
    if isinstance(loading.config_of(key).model, RecurrentConfig):
        return t("This model has no heads.")
    return worded(head_analyses.why_no_norms(key))

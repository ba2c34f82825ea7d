"""All heads at every snapshot, played like a film, and one head enlarged."""

from functools import partial

import numpy as np
import streamlit as st

from viz_app.components.attention_view import view
from viz_app.components.elements.training_player import Snapshot, TrainingFilm, training_player
from viz_app.content.numbers import decimal, sentences
from viz_app.content.translation import t
from viz_app.figures.picture import map_summary, map_table
from viz_app.sections.learning.history import History
from viz_app.session.choices import choose_by_index, settle
from viz_app.session.page_facts import add_fact
from viz_app.widgets.charts import numbers
from viz_app.widgets.head_picker import open_head

__all__ = ["draw_snapshot_player"]


def draw_snapshot_player(history: History, kind: str, layer: int, head: int) -> None:
    """Draw the player, and the button for the numbers of the chosen head at the chosen snapshot.

    Args:
        history: The sentence at every snapshot.
        kind: The kind of attention.
        layer: The layer of the large map, counted from 0.
        head: The head of the large map, counted from 0.
    """
    shown = view(history.trained, kind, merge=False, hide_special=False)
    settle("snapshot", history.ids[-1], history.ids)
    number = history.ids.index(st.session_state["snapshot"])
    name = history.names[number]
    add_fact(t("Snapshot"), name)
    film = TrainingFilm(
        snapshots=[
            Snapshot(
                name=name, text=text, loss=t("loss {loss}", loss=decimal(result.loss, digits=2)), maps=result.maps[kind]
            )
            for name, text, result in zip(history.names, history.texts, history.results, strict=True)
        ],
        axes=shown.axes,
        allowed=shown.allowed,
        kind=kind,
        written=history.trained.languages[1],
        chosen=(layer, head),
        shown=number,
    )
    training_player(
        film,
        key="training_view",
        on_open=open_head,
        on_snapshot=partial(choose_by_index, "snapshot", tuple(history.ids)),
    )
    weights = np.where(shown.allowed[layer], history.results[number].maps[kind][layer, head], np.float32("nan"))
    numbers(
        {"": partial(map_table, weights, shown.axes)},
        summary=sentences(
            [
                t("Snapshot: {name}.", name=name),
                map_summary(weights, shown.axes, unit=t("attention weight")),
            ]
        ),
        key="training_view",
        alt=t("Attention weights of layer {layer}, head {head}, {name}", layer=layer + 1, head=head + 1, name=name),
    )

"""One sentence at every snapshot of a training run."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from model.analysis.learning import EXTRA_TOKENS, SnapshotResult, UnreadableSnapshot, list_snapshots, trained_result
from model.config.kinds import KINDS
from model.inference.run import Result, Run
from viz_app.components.mounting import Data, component, labels_of, masked_out, opening, packed, tiles
from viz_app.components.page_parts import add_fact
from viz_app.content.numbers import decimal, sentences
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t, tp, worded
from viz_app.figures.picture import map_summary, map_table
from viz_app.figures.style import bound_of
from viz_app.services import analyses
from viz_app.services.attention_view import AttentionView, view
from viz_app.services.listing import CheckpointKey
from viz_app.services.models import result_of
from viz_app.session.choices import set_choice, settle
from viz_app.session.page_end import end_page
from viz_app.widgets.charts import numbers
from viz_app.widgets.head_picker import open_head
from viz_app.widgets.headings import section
from viz_app.widgets.long_work import start_and_wait_for

__all__ = ["draw_snapshot_player", "require_history", "show_snapshot_table"]

SMALL_TILE = 24  # cells on a side of a small map; the page has those of many snapshots


@dataclass(frozen=True, kw_only=True)
class History:
    """A sentence at every snapshot, and at the end of the training run."""

    trained: Result  # by the trained model
    steps: Sequence[int]  # one for each snapshot
    results: Sequence[SnapshotResult]  # of the snapshots, then of the trained model

    @property
    def ids(self) -> list[str]:
        """The names that links use."""
        return [*map(str, self.steps), "trained"]

    @property
    def names(self) -> list[str]:
        return [*(tp("training", "step {step}", step=decimal(step)) for step in self.steps), t("trained")]

    @property
    def texts(self) -> list[str]:
        return [result.text if result.finished else f"{result.text} …" for result in self.results]


def require_history(key: CheckpointKey, text: str) -> History:
    """Run a text through every snapshot, with a progress bar; end the page while the results are missing.

    A snapshot that cannot be loaded shows its message and is left out.

    Raises:
        PageEnded: no snapshot can be loaded, or the visitor stopped the work.
    """
    steps = list(list_snapshots(Path(key.path)))
    results = analyses.snapshot_results_of(key, text, steps)
    if results is None:
        subject, work = analyses.snapshots_work(key, text, steps)
        results = start_and_wait_for(subject, work, lane="snapshots", step=N_("Snapshot {done} of {total}."))
    if results is None:
        end_page()
    for result in results:
        if isinstance(result, UnreadableSnapshot):
            st.error(plain(worded(result.message)))
    read = {step: one for step, one in zip(steps, results, strict=True) if isinstance(one, SnapshotResult)}
    if not read:
        end_page()
    trained = result_of(key, Run(text=text))
    return History(trained=trained, steps=list(read), results=[*read.values(), trained_result(trained)])


def draw_snapshot_player(history: History, kind: str, layer: int, head: int) -> None:
    """Draw a player of all heads at every snapshot, and the button for the numbers of the chosen head.

    The layer and the head of the large map are counted from 0.
    """
    shown = view(history.trained, kind, merge=False, hide_special=False)
    ids = history.ids
    settle("snapshot", ids[-1], ids)
    number = ids.index(st.session_state["snapshot"])
    name = history.names[number]
    add_fact(t("Snapshot"), name)
    component(
        "training_player",
        "ui/training_player",
        key="training_view",
        open=opening(open_head),
        snapshot=lambda index: set_choice("snapshot", ids[int(index)]),
        data={**player_data(history, shown, kind, layer, head), "snapshot": number},
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


def player_data(history: History, shown: AttentionView, kind: str, layer: int, head: int) -> Data:
    """All heads at every snapshot, and one of them large, as `live/ui/training_player.js` draws them."""
    layers, heads = shown.maps.shape[:2]
    large = [masked_out(one.maps[kind][layer, head], shown.allowed[layer]) for one in history.results]
    return {
        **labels_of(shown.axes),
        "layers": layers,
        "heads": heads,
        "chosen": layer * heads + head,
        "alt": t(KINDS[kind].full_name),
        "languages": {
            "query": shown.axes.query_lang,
            "key": shown.axes.key_lang,
            "written": history.trained.languages[1],
        },
        "weights": packed(np.stack(large)),
        "snapshots": [
            {
                "name": name,
                "text": text,
                "loss": t("loss {loss}", loss=decimal(one.loss, digits=2)),
                "tiles": tiles(one.maps[kind], shown.allowed, limit=SMALL_TILE),
            }
            for name, text, one in zip(history.names, history.texts, history.results, strict=True)
        ],
    }


def show_snapshot_table(history: History) -> None:
    """Show one row for each snapshot, and one for the trained model."""
    section(
        t("The translation at every snapshot"),
        t(
            "The same sentence, translated by the model after each number of training steps. At training step 0, the "
            "weights are random. The loss shows how unlikely the model finds the translation of the trained model."
        ),
    )
    after, translation, loss = t("after"), t("translation"), t("loss, nats per token")
    losses = [result.loss for result in history.results]
    st.dataframe(
        pd.DataFrame({after: history.names, translation: history.texts, loss: losses}),
        hide_index=True,
        alt=t("Table of the translation and the loss at each snapshot"),
        column_config={
            after: st.column_config.TextColumn(width="small"),
            translation: st.column_config.TextColumn(
                width="large",
                help=t(
                    "… : stopped {tokens} tokens after the length of the trained model's translation",
                    tokens=EXTRA_TOKENS,
                ),
            ),
            loss: st.column_config.ProgressColumn(format="%.2f", min_value=0.0, max_value=bound_of(np.array(losses))),
        },
    )

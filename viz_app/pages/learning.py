"""Watch it learn: one sentence at every snapshot of a training, its translations and its maps."""

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from model.analysis.learning import EXTRA_TOKENS, list_snapshots, trained_result
from model.checkpoints.checkpoint import CheckpointError
from viz_app.components import elements
from viz_app.components.attention_view import view
from viz_app.components.data import Snapshot
from viz_app.content.plain import plain
from viz_app.figures.overview import MAX_TILE
from viz_app.figures.picture import map_summary, map_table
from viz_app.services import listing, long_analyses, translations
from viz_app.session.choices import choose_by_index, settle
from viz_app.session.page_end import end_page
from viz_app.session.page_facts import add_fact
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.charts import numbers
from viz_app.widgets.explanation import explanation
from viz_app.widgets.head_picker import heads_per_kind, open_head, pick_kind_and_head, picker_columns
from viz_app.widgets.headings import section
from viz_app.widgets.long_work import start_and_wait_for
from viz_app.widgets.text_field import require_text

key, config = checkpoint_choice.require_snapshots(listing.listed_checkpoints())
text = require_text(config)
trained = translations.translation_of(key, text)
if max(len(trained.written), len(trained.source)) > MAX_TILE:
    st.info(
        f"This text has {len(trained.source)} tokens and its translation {len(trained.written)}; this page "
        f"follows up to {MAX_TILE} of each. Shorten the text."
    )
    end_page()
steps = list(list_snapshots(Path(key.path)))
try:
    earlier = long_analyses.stages_of(key, text, steps)
    if earlier is None:
        subject, work = long_analyses.stages_work(key, text, steps)
        earlier = start_and_wait_for(subject, work, lane="snapshots", step="Snapshot")
except CheckpointError as error:
    st.error(plain(str(error)))
    end_page()
if earlier is None:
    end_page()
stages = [*earlier, trained_result(trained)]
names = [*(f"step {step:,}" for step in steps), "trained"]
written = [stage.text if stage.finished else f"{stage.text} …" for stage in stages]
columns = picker_columns("kind", "head", key="set_snapshots")
kind, layer, head = pick_kind_and_head(columns, heads_per_kind(config))
shown = view(trained, kind, merge=False, hide_special=False)
ids = [*map(str, steps), "trained"]  # what links call the snapshots
settle("snapshot", ids[-1], ids)
number = ids.index(st.session_state["snapshot"])
add_fact("Snapshot", names[number])
st.caption(
    "One sentence at several times of the training. Choose a head to enlarge it. All snapshots must write the last "
    "translation, so the rows stay the same."
)
elements.training_view(
    [
        Snapshot(name=name, text=text, loss=f"loss {stage.loss:.2f}", maps=stage.maps[kind])
        for name, text, stage in zip(names, written, stages, strict=True)
    ],
    shown.axes,
    shown.allowed,
    kind=kind,
    written=trained.languages[1],
    chosen=(layer, head),
    shown=number,
    key="training_view",
    on_open=open_head,
    on_snapshot=partial(choose_by_index, "snapshot", tuple(ids)),
)
visible = np.where(shown.allowed[layer], stages[number].maps[kind][layer, head], np.float32("nan"))
numbers(
    {"": partial(map_table, visible, shown.axes)},
    summary=f"{names[number].capitalize()}. {map_summary(visible, shown.axes, unit='attention weight')}",
    key="training_view",
    alt=f"Attention weights of layer {layer + 1}, head {head + 1}, {names[number]}",
)
section(
    "What it wrote",
    "The same sentence, translated by the model after so many training steps; at 0 its weights are random. The loss "
    "says how unlikely the trained model's translation was to it.",
)
st.dataframe(
    pd.DataFrame({"after": names, "translation": written, "loss, nats a token": [stage.loss for stage in stages]}),
    hide_index=True,
    alt="Table of the translation and the loss at each snapshot",
    column_config={
        "after": st.column_config.TextColumn(width="small"),
        "translation": st.column_config.TextColumn(
            width="large", help=f"… : stopped at the length of “trained” and {EXTRA_TOKENS} more tokens"
        ),
        "loss, nats a token": st.column_config.ProgressColumn(
            format="%.2f", min_value=0.0, max_value=max(stage.loss for stage in stages)
        ),
    },
)
explanation(
    "How it is computed",
    "Snapshots of the weights were kept while the model was trained. Each is loaded and translates the sentence "
    "greedily; then the translation of the trained model is forced upon it, token by token, and its attention and the "
    "probabilities that it gave to those tokens are recorded.",
    r"\mathrm{loss} = -\frac{1}{T}\sum_t \ln p_\mathrm{step}(y_t \mid y_{<t}, x)",
)

"""Watch it learn: one sentence at every snapshot of a training, its translations and its maps."""

from pathlib import Path

import pandas as pd
import streamlit as st

from model.analysis.learning import outcome, snapshots_of
from model.checkpoint import CheckpointError
from viz_app import analyses, checkpoint_choice, controls, listing, services
from viz_app.attention_view import view
from viz_app.charts import draw
from viz_app.figures.attention import MAX_TILE
from viz_app.figures.learning import over_training
from viz_app.plain import plain

HEIGHT = 340

key, config = checkpoint_choice.require_snapshots(listing.listed_checkpoints())
text = controls.ask_for_text(config)
if not text.strip():
    st.info("Type a sentence above, or choose one of the examples; how its translation was learned appears here.")
    st.stop()
trained = services.translation_of(key, text)
if max(len(trained.written), len(trained.source)) > MAX_TILE:
    st.info(f"This page follows texts of up to {MAX_TILE} tokens; shorten the text.")
    st.stop()
steps = list(snapshots_of(Path(key.path)))
try:
    stages = [analyses.stage_of(key, text, step) for step in controls.with_progress(steps, "Snapshot", at_least=4)]
    stages.append(outcome(trained))
except CheckpointError as error:
    st.error(plain(str(error)))
    st.stop()

names = [*(f"{step:,}" for step in steps), "trained"]
st.markdown(
    "**What it wrote.** The same sentence, translated by the model as it was after so many training steps; at 0 its "
    "weights are random, and “trained” is the checkpoint itself. The loss says how unlikely the last line still was to "
    "it."
)
st.dataframe(
    pd.DataFrame(
        {
            "training step": names,
            "translation": [stage.text if stage.finished else f"{stage.text} …" for stage in stages],
            "loss, nats a token": [stage.loss for stage in stages],
        }
    ),
    hide_index=True,
    alt="Table of the translation and the loss at each snapshot",
    column_config={
        "training step": st.column_config.TextColumn(width="small"),
        "translation": st.column_config.TextColumn(width="large", help="… : stopped at the length limit"),
        "loss, nats a token": st.column_config.ProgressColumn(
            format="%.2f", min_value=0.0, max_value=max(stage.loss for stage in stages)
        ),
    },
)
kinds, heads_column = st.columns([3.2, 2.4], vertical_alignment="bottom")
with kinds:
    kind = controls.kind_picker(config.model.kinds, "kind", "cross")
shown = view(trained, kind, merge=False, hide_special=False)
with heads_column:
    layer, head = controls.head_picker(*shown.maps.shape[:2], aggregates=False)
st.markdown(
    "**What its heads looked at**, small every layer and head, large the chosen one. All snapshots are made to write "
    "the last translation, so the rows stay the same. Play, or move the slider."
)
draw(
    over_training(
        [stage.maps[kind] for stage in stages],
        names,
        shown.axes,
        shown.allowed,
        chosen=(layer, int(head)),
        height=HEIGHT,
    ),
    key="over_training",
    alt=f"Heatmaps of all heads and of layer {layer + 1}, head {int(head) + 1}, at {len(names)} times of the training",
)
controls.how(
    "How it is computed",
    "Snapshots of the weights were kept while the model was trained. Each is loaded and translates the sentence "
    "greedily; then the translation of the trained model is forced upon it, token by token, and its attention and the "
    "probabilities that it gave to those tokens are recorded.",
    r"\mathrm{loss} = -\frac{1}{T}\sum_t \ln p_\mathrm{step}(y_t \mid y_{<t}, x)",
)

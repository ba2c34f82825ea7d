"""Watch it learn: one sentence at every snapshot of a training, its translations and its maps."""

from functools import partial
from pathlib import Path

import pandas as pd
import streamlit as st

from model.analysis.learning import outcome, snapshots_of
from model.checkpoint import CheckpointError
from viz_app import analyses, checkpoint_choice, controls, listing, services
from viz_app.attention_view import view
from viz_app.charts import draw
from viz_app.ending import end_page
from viz_app.figures.attention import MAX_TILE
from viz_app.figures.learning import over_training
from viz_app.plain import plain

HEIGHT = 340
INK = {"light": "#31333f", "dark": "#fafafa"}  # of the controls, which the theme does not reach

key, config = checkpoint_choice.require_snapshots(listing.listed_checkpoints())
text = controls.ask_for_text(config)
if not text.strip():
    st.info("Type a sentence above, or choose one of the examples; how its translation was learned appears here.")
    end_page()
trained = services.translation_of(key, text)
if max(len(trained.written), len(trained.source)) > MAX_TILE:
    st.info(
        f"This text has {len(trained.source)} tokens and its translation {len(trained.written)}; this page "
        f"follows up to {MAX_TILE} of each. Shorten the text."
    )
    end_page()
steps = list(snapshots_of(Path(key.path)))
try:
    stages = [analyses.stage_of(key, text, step) for step in controls.with_progress(steps, "Snapshot", at_least=4)]
    stages.append(outcome(trained))
except CheckpointError as error:
    st.error(plain(str(error)))
    end_page()

names = [*(f"step {step:,}" for step in steps), "trained"]
st.markdown(
    "**What it wrote.** The same sentence, translated by the model as it was after so many training steps; at 0 its "
    "weights are random, and “trained” is the checkpoint itself. The loss says how unlikely the trained model's "
    "translation was to it."
)
st.dataframe(
    pd.DataFrame(
        {
            "after": names,
            "translation": [stage.text if stage.finished else f"{stage.text} …" for stage in stages],
            "loss, nats a token": [stage.loss for stage in stages],
        }
    ),
    hide_index=True,
    alt="Table of the translation and the loss at each snapshot",
    column_config={
        "after": st.column_config.TextColumn(width="small"),
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
    "**What its heads looked at**, small every layer and head, large the chosen one; click one to "
    "open it. All snapshots are made to write "
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
        ink=INK[st.context.theme.type or "light"],
    ),
    key="over_training",
    on_select=partial(controls.open_tile, "over_training"),
    alt=f"Heatmaps of all heads and of layer {layer + 1}, head {int(head) + 1}, at {len(names)} times of the training",
)
controls.how(
    "How it is computed",
    "Snapshots of the weights were kept while the model was trained. Each is loaded and translates the sentence "
    "greedily; then the translation of the trained model is forced upon it, token by token, and its attention and the "
    "probabilities that it gave to those tokens are recorded.",
    r"\mathrm{loss} = -\frac{1}{T}\sum_t \ln p_\mathrm{step}(y_t \mid y_{<t}, x)",
)

"""Watch it learn: one sentence at every snapshot of a training run, with its translations and its attention maps."""

import streamlit as st

from model.inference.run import Run
from model.text.pair import texts_of
from viz_app.content.numbers import sentences
from viz_app.content.shared import MAX_TILE
from viz_app.content.translation import t
from viz_app.sections.learning import draw_snapshot_player, require_history, show_snapshot_table
from viz_app.services import models
from viz_app.session.page_end import end_page
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.head_picker import heads_per_kind, pick_kind_and_head, picker_columns
from viz_app.widgets.headings import explain
from viz_app.widgets.run_form import require_text
from viz_app.widgets.text_notes import doubt_note, length_remedy

key, config = checkpoint_choice.require_snapshots()
text, _ = texts_of(require_text(config))
trained = models.result_of(key, Run(text=text))
if max(len(trained.written), len(trained.source)) > MAX_TILE:
    end_page(
        sentences(
            [
                t("This page follows up to {limit} tokens of a text and of its translation.", limit=MAX_TILE),
                length_remedy(trained, MAX_TILE),
            ]
        )
    )
doubt_note(key, Run(text=text))
history = require_history(key, text)
columns = picker_columns("kind", "head", key="set_snapshots")
kind, layer, head = pick_kind_and_head(columns, heads_per_kind(config))
st.caption(
    t(
        "One sentence at several points of the training run. Choose a head to enlarge it. All snapshots must write the "
        "translation of the trained model, so the rows stay the same."
    )
)
draw_snapshot_player(history, kind, layer, head)
show_snapshot_table(history)
explain("snapshots")

"""Positional encoding: the numbers that give the model the position of each token."""

from functools import partial

import streamlit as st

from viz_app.content.tasks import TASKS
from viz_app.content.translation import t
from viz_app.sections.positions.encoding import position_matrix, position_waves, require_encoding
from viz_app.sections.positions.order import NUMBERS, distance_numbers, position_relations, positions_in_sentence
from viz_app.session.page_end import end_page
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.headings import draw_tabs

key, config = checkpoint_choice.require_model(
    *TASKS, attends=False, transformer_heading=t("This page is about the positions of a Transformer")
)
if config.model.positional in NUMBERS:
    distance_numbers(key)
    end_page()
if config.model.positional == "none":
    st.header(t("This model adds no positions to its tokens"))
    end_page(t("Nothing tells the model where a token is. In a decoder, the mask shows which tokens came before."))
encoding = require_encoding(key)
draw_tabs(
    "position_tab",
    {
        "matrix": (t("The matrix"), partial(position_matrix, encoding)),
        "waves": (t("Waves and counters"), partial(position_waves, encoding)),
        "distances": (t("Distances and rotation"), partial(position_relations, key, encoding)),
        "sentence": (t("In a sentence"), partial(positions_in_sentence, key, encoding.own)),
    },
)

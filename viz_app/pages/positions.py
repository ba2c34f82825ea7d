"""Positional encoding: the numbers that give the model the position of each token."""

import streamlit as st

from model.config.model import RecurrentConfig
from model.network.position_kind import SENTENCES
from viz_app.content.translation import t
from viz_app.sections.positions.encoding import (
    ask_for_encoding,
    introduce,
    position_matrix,
    position_waves,
    require_table,
)
from viz_app.sections.positions.order import NUMBERS, distance_numbers, position_relations, positions_in_sentence
from viz_app.services import listing
from viz_app.session.page_end import end_page
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.headings import tabs

key, config = checkpoint_choice.require_checkpoint(listing.listed_checkpoints())
if isinstance(config.model, RecurrentConfig):
    key, config = checkpoint_choice.require_attention(
        listing.listed_checkpoints(), transformer_heading=t("This page is about the positions of a Transformer")
    )
if config.model.positional in NUMBERS:
    distance_numbers(key)
    end_page()
if config.model.positional == "none":
    st.header(t("This model adds no positions to its tokens"))
    end_page(t(SENTENCES["none"]))
own = require_table(key)
introduce(config.model.positional, max_length=len(own))
encoding = ask_for_encoding(own, config.model.positional)

matrix_tab, waves_tab, relations_tab, sentence_tab = tabs(
    {
        "matrix": t("The matrix"),
        "waves": t("Waves and counters"),
        "distances": t("Distances and rotation"),
        "sentence": t("In a sentence"),
    },
    "position_tab",
)
if matrix_tab.open:
    with matrix_tab:
        position_matrix(encoding.table, kind=encoding.kind)
if waves_tab.open:
    with waves_tab:
        position_waves(encoding)
if relations_tab.open:
    with relations_tab:
        position_relations(key, encoding)
if sentence_tab.open:
    with sentence_tab:
        positions_in_sentence(key, own)

"""Heads: what each of them does, how much it matters, and what becomes of the translation without it."""

import streamlit as st

from model.config.model import RecurrentConfig
from viz_app.content.demonstrations import demonstration_for
from viz_app.sections.heads.ablation_board import ablation_board
from viz_app.sections.heads.head_importance import head_importance
from viz_app.sections.heads.head_patching import pasted_heads
from viz_app.sections.heads.head_roles import head_roles
from viz_app.sections.heads.sentence_set import sentence_set
from viz_app.sections.heads.word_alignment import word_alignment
from viz_app.services import listing
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.forced_words_note import forced_words_note
from viz_app.widgets.run_controls import require_run
from viz_app.widgets.tabs import tabs
from viz_app.widgets.text_field import require_text

key, config = checkpoint_choice.require_attention(listing.listed_checkpoints(), also=("continuation", "reading"))
board, roles, importance, aligning, pasting = tabs(
    {
        "board": "Ablation board",
        "roles": "What heads do",
        "importance": "Importance",
        "alignment": "Alignment",
        "paste": "Paste a head",
    },
    "heads_tab",
)
if board.open:
    with board:
        text, run = require_run(key, opening=demonstration_for(config).heads)
        if run.forced:
            forced_words_note(key, text, run.forced)
        ablation_board(key, text, run)
if roles.open:
    with roles:
        head_roles(key, sentence_set(config))
if importance.open:
    with importance:
        if config.task == "translation":
            head_importance(key, sentence_set(config))
        else:
            st.info("Importance is measured on translations; choose a translator on the left.")
if aligning.open:
    with aligning:
        word_alignment(key)
if pasting.open:
    with pasting:
        if config.task != "translation" or isinstance(config.model, RecurrentConfig):
            st.info("Heads are pasted between translations by a Transformer; choose one on the left.")
        else:
            pasted_heads(key, config, require_text(config, opening=demonstration_for(config).receiver))

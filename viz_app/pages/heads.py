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
from viz_app.widgets import checkpoint_choice, controls
from viz_app.widgets.forced_words_note import say_what_is_forced
from viz_app.widgets.run_controls import ask_for_run

key, config = checkpoint_choice.require_attention(listing.listed_checkpoints(), also=("continuation", "reading"))
board, roles, importance, aligning, pasting = controls.tabs(
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
        text, run = ask_for_run(key, first=demonstration_for(config).heads)
        if text.strip():
            if run.forced:
                say_what_is_forced(key, text, run.forced)
            ablation_board(key, text, run)
        else:
            st.info("Type a sentence above, or choose one of the examples.")
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
        elif (text := controls.ask_for_text(config, first=demonstration_for(config).receiver)).strip():
            pasted_heads(key, config, text)
        else:
            st.info("Type a sentence above, or choose one of the examples.")

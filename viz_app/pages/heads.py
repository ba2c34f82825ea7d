"""Heads: what each head does, how much it matters, and the translation without it."""

import streamlit as st

from model.config.model import RecurrentConfig
from viz_app.content.demonstrations import demonstration_for
from viz_app.content.plain import plain
from viz_app.sections.heads.ablation_board import ablation_board
from viz_app.sections.heads.head_importance import head_importance
from viz_app.sections.heads.head_patching import head_patching
from viz_app.sections.heads.head_roles import head_roles
from viz_app.sections.heads.sentence_set import sentence_set
from viz_app.sections.heads.word_alignment import word_alignment
from viz_app.services import head_analyses, listing
from viz_app.session.page_end import end_page
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.forced_words_note import forced_words_note
from viz_app.widgets.run_controls import require_run
from viz_app.widgets.tabs import tabs
from viz_app.widgets.text_field import require_text

TABS = {
    "board": "Ablation board",
    "roles": "What heads do",
    "importance": "Importance",
    "alignment": "Alignment",
    "paste": "Patch a head",
}

key, config = checkpoint_choice.require_attention(listing.listed_checkpoints(), also=("continuation", "reading"))
read_only = plain(head_analyses.why_read_only(key))
board, roles, importance, alignment, patching = tabs(TABS, "heads_tab")
if board.open:
    with board:
        if read_only:
            end_page(f"{read_only} The tabs “What heads do” and “Alignment” show what its heads do.")
        text, run = require_run(key, opening=demonstration_for(config).heads)
        if run.forced:
            forced_words_note(key, text, run.forced)
        ablation_board(key, text, run)
if roles.open:
    with roles:
        head_roles(key, sentence_set(config))
if importance.open:
    with importance:
        if read_only:
            st.info(read_only)
        elif config.task == "translation":
            head_importance(key, sentence_set(config))
        else:
            st.info("Importance is measured on translations. Choose a translator on the left.")
if alignment.open:
    with alignment:
        word_alignment(key)
if patching.open:
    with patching:
        if read_only:
            st.info(read_only)
        elif config.task != "translation" or isinstance(config.model, RecurrentConfig):
            st.info("Heads are patched between two translations by a Transformer. Choose a Transformer on the left.")
        else:
            head_patching(key, config, require_text(config, opening=demonstration_for(config).receiver))

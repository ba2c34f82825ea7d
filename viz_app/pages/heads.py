"""Heads: what each head does, how much it matters, and the result without it."""

import streamlit as st

from model.analysis.availability import nothing_predicted
from model.config.model import RecurrentConfig
from viz_app.content.numbers import sentences
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t, worded
from viz_app.sections.heads.ablation_board import ablation_board
from viz_app.sections.heads.head_measures import head_importance, head_roles, sentence_set, word_alignment
from viz_app.sections.heads.head_patching import head_patching
from viz_app.sections.heads.intervention_choice import require_receiver, require_run_or_review
from viz_app.services import analyses, listing
from viz_app.session.page_end import end_page
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.headings import tabs
from viz_app.widgets.search_picker import forced_words_note

TABS = {
    "board": N_("Ablation board"),
    "roles": N_("What heads do"),
    "importance": N_("Importance"),
    "alignment": N_("Alignment"),
    "paste": N_("Patch a head"),
}

key, config = checkpoint_choice.require_attention(
    listing.listed_checkpoints(), also=("continuation", "reading", "classification")
)
read_only = plain(worded(analyses.why_read_only(key)))
board, roles, importance, alignment, patching = tabs({name: t(label) for name, label in TABS.items()}, "heads_tab")
if board.open:
    with board:
        if read_only:
            end_page(sentences([read_only, t("The tabs “What heads do” and “Alignment” show what its heads do.")]))
        run = require_run_or_review(key)
        if run.forced:
            forced_words_note(key, run)
        ablation_board(key, run)
if roles.open:
    with roles:
        head_roles(key, sentence_set(config))
if importance.open:
    with importance:
        if read_only:
            st.info(read_only)
        elif config.task == "reading":
            st.info(t("Importance is measured on what a model writes or decides. Choose another model on the left."))
        else:
            head_importance(key, config.task, sentence_set(config))
if alignment.open:
    with alignment:
        word_alignment(key)
if patching.open:
    with patching:
        if read_only:
            st.info(read_only)
        elif isinstance(config.model, RecurrentConfig):
            st.info(t("Heads are patched between two translations by a Transformer. Choose a Transformer on the left."))
        elif not getattr(config, "predicts", True):
            st.info(plain(worded(nothing_predicted(config))))
        else:
            head_patching(key, require_receiver(config))

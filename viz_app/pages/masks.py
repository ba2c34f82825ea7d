"""Masks: a few sentences form one padded batch, and masks exclude its padding and the future."""

import streamlit as st

from model.analysis.padded_batch import padded_batch
from viz_app.content.plain import plain
from viz_app.content.translation import t, worded
from viz_app.sections.masks.bug_lab import bug_lab
from viz_app.sections.masks.correct_masks import ask_for_sentences, correct_masks, padded_sentence, pick_row, pick_side
from viz_app.services import analyses, listing
from viz_app.services.analyses import analysis_of
from viz_app.session.page_end import end_page
from viz_app.session.page_facts import add_fact
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.headings import tabs
from viz_app.widgets.search_picker import note_greedy_search

key, config = checkpoint_choice.require_attention(
    listing.listed_checkpoints(),
    transformer_heading=t("This page is about the masks of a Transformer"),
    also=("continuation", "reading", "classification"),
)
if problem := analyses.why_no_masks(key):
    end_page(plain(worded(problem)))
st.markdown(
    t(
        "Padding gives all sentences of a batch the same length, and the decoder must not see the token that it will "
        "write. A **mask** decides which keys (columns) a query (row) may attend to: **blue = may attend, grey = "
        "masked**."
    )
    if "decoder" in config.model.kinds
    else t(
        "Padding gives all sentences of a batch the same length. A **mask** decides which keys (columns) a query (row) "
        "may attend to: **blue = may attend, grey = masked**."
    )
)
sentences, row_column = ask_for_sentences(config)
if len(sentences) < 2:
    end_page(t("Type at least two sentences: one sentence needs no padding."))
add_fact(t("Sentences"), " / ".join(sentences))
if config.task == "translation":
    note_greedy_search()
side = pick_side(key)
batch = analysis_of(padded_batch, key, sentences, side)
with row_column:
    row = pick_row(batch)
sentence = padded_sentence(key, sentences, batch, row, side)

correct_tab, bug_tab = tabs({"right": t("Correct masks"), "bugs": t("Bug lab")}, "mask_tab")
if correct_tab.open:
    with correct_tab:
        correct_masks(sentence)
if bug_tab.open:
    with bug_tab:
        bug_lab(sentence)

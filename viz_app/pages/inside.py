"""Inside: follow a token through one head and through the layers, and see what leads the model to a word."""

import streamlit as st

from model.config.section import ConfigError
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t, worded
from viz_app.sections.inside.classified_text import classified_text
from viz_app.sections.inside.layer_by_layer import layer_by_layer
from viz_app.sections.inside.logit_lens import early_predictions
from viz_app.sections.inside.one_head import one_head
from viz_app.sections.inside.read_or_guessed import read_or_guessed
from viz_app.sections.inside.why_this_word import why_this_word
from viz_app.sections.sentiment.review_field import ask_for_review
from viz_app.services import analyses, listing
from viz_app.session.page_end import end_page
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.forced_words_note import forced_words_note
from viz_app.widgets.run_controls import require_run
from viz_app.widgets.tabs import tabs

key, config = checkpoint_choice.require_attention(
    listing.listed_checkpoints(),
    transformer_heading=t("This page is about the dot products of a Transformer"),
    also=("continuation", "reading", "classification"),
)
if config.task == "classification":
    review = ask_for_review(config, height=80)
    if not review.strip():
        end_page(t("Type a review above."))
    classified_text(key, config, review)
    end_page()
text, run = require_run(key)
if run.forced:
    forced_words_note(key, text, run.forced)
SECTIONS = {
    "stations": (N_("Layer by layer"), layer_by_layer),
    "layers": (N_("Prediction after each layer"), early_predictions),
    "why": (N_("Why this word?"), why_this_word),
    "read": (N_("Read or guessed?"), read_or_guessed),
}
labels = {"head": t("One head")} | {name: t(label) for name, (label, _) in SECTIONS.items()}
head, *others = tabs(labels, "inside_tab")
if head.open:
    with head:
        one_head(key, config, text, run)
for tab, (_, section) in zip(others, SECTIONS.values(), strict=True):
    if tab.open:
        with tab:
            if problem := analyses.why_no_residual_stream(key):
                st.info(plain(worded(problem)))
                continue
            try:
                section(key, text, run)
            except ConfigError as error:
                st.info(plain(worded(error)))

"""Inside: follow a token through one head and through the layers, and see what leads the model to a word."""

import streamlit as st

from model.config.section import ConfigError
from model.inference.run import Run
from model.text.pair import texts_of
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t, worded
from viz_app.sections.inside.layer_by_layer import layer_by_layer
from viz_app.sections.inside.logit_lens import early_predictions
from viz_app.sections.inside.one_head import one_head
from viz_app.sections.inside.read_or_guessed import read_or_guessed
from viz_app.sections.inside.why_this_word import why_this_word
from viz_app.sections.sentiment import ask_for_review
from viz_app.services import analyses, listing
from viz_app.session.page_end import end_page
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.headings import tabs
from viz_app.widgets.search_picker import forced_words_note
from viz_app.widgets.text_field import require_run

key, config = checkpoint_choice.require_attention(
    listing.listed_checkpoints(),
    transformer_heading=t("This page is about the dot products of a Transformer"),
    also=("continuation", "reading", "classification"),
)
classifies = config.task == "classification"
if classifies:
    review = ask_for_review(config, height=80)
    if not texts_of(review)[0].strip():
        end_page(t("Type a review above."))
    run = Run(text=review)
else:
    run = require_run(key)
if run.forced:
    forced_words_note(key, run)
SECTIONS = {
    "stations": (N_("Layer by layer"), layer_by_layer),
    "layers": (N_("Class after each layer") if classifies else N_("Prediction after each layer"), early_predictions),
    "why": (N_("Why this class?") if classifies else N_("Why this word?"), why_this_word),
    "read": (N_("From which tokens?") if classifies else N_("Read or guessed?"), read_or_guessed),
}
labels = {"head": t("One head")} | {name: t(label) for name, (label, _) in SECTIONS.items()}
head, *others = tabs(labels, "inside_tab")
if head.open:
    with head:
        one_head(key, run)
for tab, (_, section) in zip(others, SECTIONS.values(), strict=True):
    if tab.open:
        with tab:
            if problem := analyses.why_no_residual_stream(key):
                st.info(plain(worded(problem)))
                continue
            try:
                section(key, run)
            except ConfigError as error:
                st.info(plain(worded(error)))

"""Step by step: greedy search as it happens, another word forced into it, and beam search as a tree."""

import streamlit as st

from model.inference.run import Run
from model.text.pair import texts_of
from viz_app.components.page_parts import add_fact
from viz_app.content.numbers import sentences
from viz_app.content.shared import MAX_STEPS
from viz_app.content.translation import t
from viz_app.sections.steps import beam_tree, greedy_steps, step_controls
from viz_app.services import models
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.forced_words import forced_words_caption
from viz_app.widgets.headings import explain
from viz_app.widgets.run_form import chosen_forced_tokens, require_text
from viz_app.widgets.text_notes import doubt_note, length_remedy

key, config = checkpoint_choice.require_model("translation", "continuation")
text, _ = texts_of(require_text(config, forces=True))
run = Run(text=text, forced=chosen_forced_tokens(key))
translation = models.result_of(key, run)
add_fact(t("Translation"), translation.text)
search, setting = step_controls(forced=bool(run.forced))
if run.forced:
    forced_words_caption(key, run)
else:
    doubt_note(key, run)
if max(len(translation.written) - translation.prompt_length, translation.prompt_length + 1) > MAX_STEPS:
    limit = t("This page can show at most {limit} tokens.", limit=MAX_STEPS)
    st.info(sentences([limit, length_remedy(translation, MAX_STEPS)]))
elif search == "greedy":
    greedy_steps(key, run, setting)
else:
    beam_tree(key, run, setting)
explain("steps")

"""Side by side: two checkpoints, two sentences, or one model as trained and as changed; and where they differ."""

import streamlit as st

from viz_app.content.examples import demonstration_for
from viz_app.content.translation import t
from viz_app.sections.compare import (
    by_length,
    choose_mode,
    demonstration_hint,
    map_differences,
    offer_two_networks,
    run_both,
    trained_and_changed,
    two_checkpoints,
    two_maps,
    two_sentences,
    two_texts,
)
from viz_app.services import listing, models
from viz_app.session.page_end import end_page
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.run_form import require_text

listed = listing.listed_checkpoints()
key, config = checkpoint_choice.require_model("translation", "continuation", "reading", attends=False)
others = listing.comparable(key, config, listed)
mode, setting = choose_mode(has_others=bool(others))
text = require_text(config, opening=demonstration_for(config).compared)
if mode == "checkpoints":
    left, right = two_checkpoints(key, text, listed, others, setting)
elif mode == "sentences":
    left, right = two_sentences(key, text)
else:
    left, right = trained_and_changed(key, text)
texts, options = st.columns([2.4, 1], vertical_alignment="center")
with texts:
    if mode == "checkpoints":
        demonstration_hint(config, right, best=next(iter(others)))
    two_texts(mode, left, right)
configs = {side.name: models.config_of(side.key) for side in (left, right)} if mode == "checkpoints" else {}
kinds = [kind for kind in left.translation().maps if kind in right.translation().maps]
with options:
    if mode == "checkpoints":
        offer_two_networks([one.key.name for one in listed if one.config is not None])
    runs = run_both(mode, left, right) if kinds else None
if runs is None:
    by_length(configs, expanded=True)
    end_page(t("One of the two has no attention, so there are translations to compare, but no maps."))
pair = two_maps(left, right, runs, kinds)
map_differences(mode, pair)
by_length(configs, expanded=False)

"""Checkpoints: a table of all models, a form to open another one, and the details of the chosen one."""

from pathlib import Path

import streamlit as st

from viz_app.content.plain import plain
from viz_app.content.translation import t
from viz_app.sections.checkpoints import (
    bring_your_own,
    draw_training_curves,
    note_opened,
    show_card,
    show_checkpoint_table,
    show_configuration,
    show_parameters,
    show_unused_parts,
    show_upload_problem,
)
from viz_app.services import listing
from viz_app.session.own_checkpoints import own_checkpoints
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.headings import tabs

found = listing.listed_checkpoints()
st.markdown(
    t(
        "The table lists the bundled checkpoints, those in the folders of `HEADLIGHT_CHECKPOINTS`, and those that you "
        "trained or downloaded. Reload the page to see a new one. BLEU, chrF and accuracy are measured on the test set "
        "that the model card names, with beam size 5."
    )
)
if not found:
    checkpoint_choice.require_checkpoint(found)
show_checkpoint_table(found)
messages = st.container()
with messages:
    show_upload_problem()
form = st.expander(t("Open your own"), icon=":material/upload:", on_change="rerun", key="open_your_own")
if form.open:
    with form:
        own = own_checkpoints().values()
        bring_your_own({listed.key.name for listed in found if Path(listed.key.path) not in own})

key, config = checkpoint_choice.require_checkpoint(found)
with messages:
    note_opened(key.name)
st.header(plain(key.name))
st.caption(t("This checkpoint is chosen on the left."))
unused = st.container()
card, curves, parameters, configuration = tabs(
    {
        "card": t("Model card"),
        "curves": t("Training curves"),
        "parameters": t("Parameters"),
        "configuration": t("Configuration"),
    },
    "checkpoint_tab",
)
if card.open:
    with card:
        show_card(key)
if curves.open:
    with curves:
        draw_training_curves(key, config)
if parameters.open:
    with parameters:
        show_parameters(key)
if configuration.open:
    with configuration:
        show_configuration(key, config)
with unused:  # last, because it waits for the model
    show_unused_parts(key)

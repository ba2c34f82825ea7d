"""Checkpoints: a table of all models, a form to open another one, and the details of the chosen one."""

from functools import partial
from pathlib import Path

import streamlit as st

from viz_app.content.plain import plain
from viz_app.content.translation import t
from viz_app.sections import checkpoints
from viz_app.services import listing
from viz_app.session.own_checkpoints import own_checkpoints
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.headings import draw_tabs, introduce

found = listing.listed_checkpoints()
introduce("checkpoints")
if not found:
    checkpoint_choice.require_checkpoint()
checkpoints.show_checkpoint_table(found)
messages = st.container()
with messages:
    checkpoints.show_upload_problem()
form = st.expander(t("Open your own"), icon=":material/upload:", on_change="rerun", key="open_your_own")
if form.open:
    with form:
        own = own_checkpoints().values()
        checkpoints.bring_your_own({listed.key.name for listed in found if Path(listed.key.path) not in own})

key, config = checkpoint_choice.require_checkpoint()
with messages:
    checkpoints.note_opened(key.name)
st.header(plain(key.name))
st.caption(t("This checkpoint is chosen on the left."))
unused = st.container()
draw_tabs(
    "checkpoint_tab",
    {
        "card": (t("Model card"), partial(checkpoints.show_card, key)),
        "curves": (t("Training curves"), partial(checkpoints.draw_training_curves, key, config)),
        "parameters": (t("Parameters"), partial(checkpoints.show_parameters, key)),
        "configuration": (t("Configuration"), partial(checkpoints.show_configuration, key, config)),
    },
)
with unused:  # last, because it waits for the model
    checkpoints.show_unused_parts(key)
    checkpoints.show_atlas_problem(key)

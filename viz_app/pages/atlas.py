"""Atlas: what each head does in a whole corpus."""

import streamlit as st

from model.config.section import ConfigError
from viz_app.content.plain import plain
from viz_app.content.tasks import TASKS
from viz_app.content.translation import worded
from viz_app.sections.atlas import (
    atlas_downloads,
    draw_all_heads,
    draw_chosen_heads,
    heads_on_a_sentence,
    measure_another,
    require_atlas,
)
from viz_app.widgets import checkpoint_choice

key, _ = checkpoint_choice.require_model(*TASKS)
try:
    atlas = require_atlas(key)
    heads = draw_all_heads(atlas)
    if heads:
        draw_chosen_heads(atlas, heads)
except ConfigError as error:
    st.error(plain(worded(error)))
    measure_another(key)
else:
    atlas_downloads(atlas, heads)
    measure_another(key)
    if len(heads) > 1:
        heads_on_a_sentence(key, heads)

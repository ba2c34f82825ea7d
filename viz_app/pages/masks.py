"""Masks: a few sentences form one padded batch, and masks exclude its padding and the future."""

from functools import partial

from viz_app.content.plain import plain
from viz_app.content.tasks import TASKS
from viz_app.content.translation import t, worded
from viz_app.sections.masks.bug_lab import bug_lab
from viz_app.sections.masks.correct_masks import (
    correct_masks,
    require_sentence,
)
from viz_app.services import analyses
from viz_app.session.page_end import end_page
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.headings import draw_tabs, introduce

key, config = checkpoint_choice.require_model(
    *TASKS, transformer_heading=t("This page is about the masks of a Transformer")
)
if problem := analyses.why_no("masks", key):
    end_page(plain(worded(problem)))
introduce("batch-read-and-written" if "decoder" in config.model.kinds else "batch-read")
sentence = require_sentence(key)
draw_tabs(
    "mask_tab",
    {
        "right": (t("Correct masks"), partial(correct_masks, sentence)),
        "bugs": (t("Bug lab"), partial(bug_lab, sentence)),
    },
)

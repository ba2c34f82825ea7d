"""Inside: follow a token through one head and through the layers, and see what leads the model to a word."""

from collections.abc import Callable
from functools import partial

from model.inference.run import Run
from viz_app.content.plain import plain
from viz_app.content.tasks import TASKS
from viz_app.content.translation import t, worded
from viz_app.sections.inside.layer_by_layer import layer_by_layer
from viz_app.sections.inside.logit_lens import early_predictions
from viz_app.sections.inside.one_head import one_head
from viz_app.sections.inside.read_or_guessed import read_or_guessed
from viz_app.sections.inside.why_this_word import why_this_word
from viz_app.sections.sentiment import require_run_or_review
from viz_app.services import analyses
from viz_app.services.listing import CheckpointKey
from viz_app.session.page_end import end_page
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.forced_words import forced_words_note
from viz_app.widgets.headings import draw_tabs


def where_it_can(section: Callable[[CheckpointKey, Run], None]) -> None:
    """Draw a section about the residual stream, or say why it cannot be drawn."""
    if problem := analyses.why_no("residual stream", key):
        end_page(plain(worded(problem)))
    section(key, run)


key, config = checkpoint_choice.require_model(
    *TASKS, transformer_heading=t("This page is about the dot products of a Transformer")
)
classifies = config.task == "classification"
run = require_run_or_review(key)
if run.forced:
    forced_words_note(key, run)
after_each_layer = t("Class after each layer") if classifies else t("Prediction after each layer")
why = t("Why this class?") if classifies else t("Why this word?")
read = t("From which tokens?") if classifies else t("Read or guessed?")
draw_tabs(
    "inside_tab",
    {
        "head": (t("One head"), partial(one_head, key, run)),
        "stations": (t("Layer by layer"), partial(where_it_can, layer_by_layer)),
        "layers": (after_each_layer, partial(where_it_can, early_predictions)),
        "why": (why, partial(where_it_can, why_this_word)),
        "read": (read, partial(where_it_can, read_or_guessed)),
    },
)

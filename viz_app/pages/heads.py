"""Heads: what each head does, how much it matters, and the result without it."""

from functools import partial

from viz_app.content.tasks import TASKS
from viz_app.content.translation import t
from viz_app.sections.heads.ablation_board import ablation_board
from viz_app.sections.heads.head_circuits import reads_and_writes
from viz_app.sections.heads.head_measures import head_importance, head_roles, word_alignment
from viz_app.sections.heads.head_patching import head_patching
from viz_app.widgets import checkpoint_choice
from viz_app.widgets.headings import draw_tabs

key, _ = checkpoint_choice.require_model(*TASKS)
draw_tabs(
    "heads_tab",
    {
        "board": (t("Ablation board"), partial(ablation_board, key)),
        "roles": (t("What heads do"), partial(head_roles, key)),
        "importance": (t("Importance"), partial(head_importance, key)),
        "alignment": (t("Alignment"), partial(word_alignment, key)),
        "circuits": (t("Reads and writes"), partial(reads_and_writes, key)),
        "paste": (t("Patch a head"), partial(head_patching, key)),
    },
)

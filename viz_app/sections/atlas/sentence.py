"""Two heads of an atlas on one sentence."""

from collections.abc import Sequence

import streamlit as st

from model.inference.run import Result
from model.interventions import Head
from viz_app.content.translation import t
from viz_app.sections.heads.intervention_choice import head_name
from viz_app.sections.sentiment import require_run_or_review
from viz_app.services import models
from viz_app.services.attention_view import chosen_map, view
from viz_app.services.listing import CheckpointKey
from viz_app.widgets.atlas_links import MapOf, draw_head_map
from viz_app.widgets.head_picker import choose_window
from viz_app.widgets.headings import section

__all__ = ["draw_heads_side_by_side", "heads_on_a_sentence"]


def heads_on_a_sentence(key: CheckpointKey, heads: Sequence[Head]) -> None:
    """Ask for a sentence, and draw the maps of some heads beside each other."""
    section(t("Both heads on one sentence"), t("Type a sentence. Each map is what the model computes for it."))
    run = require_run_or_review(key)
    draw_heads_side_by_side(key, models.result_of(key, run), heads, picture="atlas_map")


def draw_heads_side_by_side(key: CheckpointKey, result: Result, heads: Sequence[Head], *, picture: str) -> None:
    """Draw the maps of one or more heads, with the same section of large maps; `picture` begins their keys."""
    views = [view(result, head.kind, merge=False, hide_special=False) for head in heads]
    large = [
        chosen_map(maps, None, head.layer, head.head, weighted=False) for maps, head in zip(views, heads, strict=True)
    ]
    widest = max(range(len(heads)), key=lambda i: large[i].weights.size)
    window = choose_window(large[widest].weights, views[widest].axes)
    for number, (column, head) in enumerate(zip(st.columns(max(2, len(heads))), heads, strict=False)):
        with column:
            name = head_name(head)
            section(name)
            draw_head_map(
                large[number].weights,
                views[number].axes,
                large[number].allowed,
                window=window,
                of=MapOf(checkpoint=key, head=head, result=result),
                key=f"{picture}_{number}",
                alt=t("Attention weights of {name}", name=name),
            )

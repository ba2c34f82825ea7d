"""Two heads of an atlas on one sentence."""

from collections.abc import Sequence

import streamlit as st

from model.config.kinds import KINDS
from model.interventions import Head
from viz_app.content.translation import t
from viz_app.sections.sentiment import require_run_or_review
from viz_app.services import models
from viz_app.services.attention_view import chosen_map, view
from viz_app.services.listing import CheckpointKey
from viz_app.widgets.atlas_links import MapOf, draw_head_map
from viz_app.widgets.head_picker import choose_window
from viz_app.widgets.headings import section

__all__ = ["heads_on_a_sentence"]


def heads_on_a_sentence(key: CheckpointKey, heads: Sequence[Head]) -> None:
    """Ask for a sentence, and draw the maps of some heads beside each other."""
    section(t("Both heads on one sentence"), t("Type a sentence. Each map is what the model computes for it."))
    run = require_run_or_review(key)
    result = models.result_of(key, run)
    views = [view(result, head.kind, merge=False, hide_special=False) for head in heads]
    large = [
        chosen_map(maps, None, head.layer, head.head, weighted=False) for maps, head in zip(views, heads, strict=True)
    ]
    widest = max(range(len(heads)), key=lambda i: large[i].weights.size)
    window = choose_window(large[widest].weights, views[widest].axes)
    for number, (column, head) in enumerate(zip(st.columns(len(heads)), heads, strict=True)):
        with column:
            name = t(
                "{kind}, layer {layer}, head {head}",
                kind=t(KINDS[head.kind].title),
                layer=head.layer + 1,
                head=head.head + 1,
            )
            section(name)
            draw_head_map(
                window.of(large[number].weights),
                window.of_axes(views[number].axes),
                window.of(large[number].allowed),
                of=MapOf(
                    checkpoint=key,
                    head=head,
                    result=result,
                    starts=window.starts_in(*large[number].weights.shape),
                ),
                key=f"atlas_map_{number}",
                alt=t("Attention weights of {name}", name=name),
            )

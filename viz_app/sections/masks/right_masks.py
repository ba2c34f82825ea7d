"""A padded batch, its masks, and one head's real scores on their way through them."""

from collections.abc import Mapping

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.analysis.padded_batch import PaddedBatch
from model.checkpoints.languages import tag
from viz_app.content.plain import visible
from viz_app.figures import masks
from viz_app.figures.attention import head_map
from viz_app.figures.style import Axes
from viz_app.services import loading, padded_batches
from viz_app.services.listing import CheckpointKey
from viz_app.widgets.charts import draw
from viz_app.widgets.chips import batch_table
from viz_app.widgets.explanation import explanation
from viz_app.widgets.head_picker import heads_per_kind, pick_kind_and_head, picker_columns
from viz_app.widgets.headings import section

__all__ = ["clearest_row", "right_masks"]

HEIGHT = 360


def clearest_row(batch: PaddedBatch) -> int:
    """The sentence with the largest triangle among those with padding; the first where none has any."""
    lengths = batch.decoder_mask.any(axis=1).sum(axis=-1)  # (B,), tokens that are no padding
    return int(np.where(lengths < batch.decoder_mask.shape[-1], lengths, 0).argmax())


def right_masks(
    key: CheckpointKey,
    sentences: tuple[str, ...],
    row: int,
    axes: Mapping[str, Axes],
    allowed: Mapping[str, NDArray[np.bool_]],
) -> None:
    """Draw a batch, the masks of one of its sentences, and the stages of one head.

    Args:
        key: Of a translator.
        sentences: The batch, two or more.
        row: Which sentence is looked at.
        axes: Kind → labels of its maps; "batch" → those of the padding mask.
        allowed: Kind → mask of that sentence, (T, S).
    """
    batch = padded_batches.batch_of(key, sentences)
    with st.container(key="set_batch"):  # while one presents, it stands below the masks
        section(
            "The batch",
            f"Each token above its id. The decoder reads “{visible(batch.read[row][0])}” first, then the translation: "
            "always the token before the one that it writes.",
        )
        source_table, target_table = st.columns(2)
    texts, padding = loading.config_of(key).tokenizer, loading.translator(key).model.pad_id
    for column, ids, tokens, name, language in (
        (source_table, batch.source_ids, batch.source, "source", texts.source_language),
        (target_table, batch.read_ids, batch.read, "read by the decoder", texts.target_language),
    ):
        column.html(batch_table(name, tokens, ids, padding=padding, lang=tag(language)))

    pictures = (
        ("padding", batch.padding_mask, axes["batch"], "No query may attend to <pad>."),
        ("causal", batch.causal_mask, axes["decoder"], "No position may attend to the future."),
        ("combined", allowed["decoder"], axes["decoder"], "No future and no padding."),
        ("cross", allowed["cross"], axes["cross"], "The decoder sees the source without its padding."),
    )
    for place, (name, mask, mask_axes, sentence) in zip([*st.columns(2), *st.columns(2)], pictures, strict=True):
        with place:
            section("Combined decoder mask" if name == "combined" else f"{name.capitalize()} mask", sentence)
            draw(
                masks.mask_map(mask, mask_axes, height=HEIGHT),
                key=f"{name}_mask",
                alt=f"The {name} mask: blue cells may attend, grey cells are masked",
            )

    section(
        "One head's real numbers",
        "The scores before the mask, after it (grey = −∞), and the weights after the softmax: exactly 0 where masked.",
    )
    columns, sizes = picker_columns("kind", "head"), heads_per_kind(loading.config_of(key))
    kind, layer, head = pick_kind_and_head(columns, sizes, key="mask_kind", default="decoder")
    mask = allowed[kind]
    heads = padded_batches.score_stages_of(key, sentences, kind, layer, row)
    stage = {name: heads[name][head] for name in padded_batches.STAGES}
    bound = float(np.abs(stage["scores"]).max()) or 1.0
    before, after, softmax = st.columns(3)
    for column, name, title in (
        (before, "scores", "Scores before the mask"),
        (after, "masked_scores", "Scores after the mask"),
    ):
        with column:
            st.caption(title)
            draw(
                masks.score_map(stage[name], axes[kind], bound=bound, height=HEIGHT),
                key=f"stage_{name}",
                alt=f"{title} of layer {layer + 1}, head {head + 1}",
            )
    with softmax:
        st.caption("Weights after the softmax")
        draw(
            head_map(stage["weights"], axes[kind], mask, height=HEIGHT),
            key="stage_weights",
            alt=f"Attention weights of layer {layer + 1}, head {head + 1} after the softmax",
        )
    masked_weight = float(np.where(mask, 0.0, stage["weights"]).max())
    worst_sum = float(np.abs(stage["weights"].sum(axis=-1) - 1).max())
    st.caption(f"Largest weight on a masked key: {masked_weight:g}. Row sums differ from 1 by at most {worst_sum:.2g}.")
    explanation(
        "How it is computed",
        "The mask puts minus infinity where attention is forbidden; e to the minus infinity is 0, so the softmax "
        "leaves exactly nothing there, and the rest still sums to 1.",
        r"\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + M\right),\qquad M_{ij}\in\{0,-\infty\}",
    )

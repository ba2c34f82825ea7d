"""The masks of a padded batch, and the scores of one head before and after its mask."""

from collections.abc import Mapping

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.checkpoints.languages import tag
from viz_app.content.plain import visible
from viz_app.figures import masks
from viz_app.figures.attention import head_map
from viz_app.figures.style import Axes
from viz_app.sections.masks.padded_sentence import PaddedSentence, pick_head_of_sentence
from viz_app.services import loading, padded_batches
from viz_app.widgets.batch_table import batch_table
from viz_app.widgets.charts import draw
from viz_app.widgets.explanation import explanation
from viz_app.widgets.headings import section

__all__ = ["correct_masks"]

HEIGHT = 360


def correct_masks(sentence: PaddedSentence) -> None:
    """Draw the masks of a sentence, its batch, and the scores of one head."""
    draw_masks(sentence)
    with st.container(key="set_batch"):  # while presenting, it stands below the pictures
        show_batch(sentence)
    section(
        "The scores of one head",
        "Left: before the mask. Middle: after the mask (grey = −∞). Right: the weights after the softmax, exactly 0 "
        "where masked.",
    )
    kind, layer, head = pick_head_of_sentence(sentence)
    heads = padded_batches.score_stages_of(sentence.key, sentence.sentences, kind, layer, sentence.row)
    stages = {name: heads[name][head] for name in padded_batches.STAGES}  # each (T, S)
    draw_stages(stages, sentence.axes[kind], sentence.allowed[kind], f"layer {layer + 1}, head {head + 1}")
    explanation(
        "How it is computed",
        "The mask sets the scores of masked keys to minus infinity. e to the power of minus infinity is 0. So the "
        "softmax gives these keys a weight of exactly 0, and the other weights still sum to 1.",
        r"\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + M\right),\qquad M_{ij}\in\{0,-\infty\}",
    )


def draw_masks(sentence: PaddedSentence) -> None:
    """Draw the padding mask of the batch, and the causal, the combined and the cross mask of the sentence."""
    batch = sentence.batch
    batch_axes = Axes(
        queries=[f"sentence {i + 1}" for i in range(len(sentence.sentences))],
        keys=[str(i) for i in range(batch.padding_mask.shape[1])],
        query_title="sentence",
        key_title="key: source position",
    )
    decoder, cross = sentence.axes["decoder"], sentence.axes["cross"]
    pictures = (
        ("padding", "Padding mask", "No query may attend to <pad>.", batch.padding_mask, batch_axes),
        ("causal", "Causal mask", "No query may attend to a later token.", batch.causal_mask, decoder),
        ("combined", "Combined decoder mask", "No later token and no <pad>.", sentence.allowed["decoder"], decoder),
        ("cross", "Cross mask", "The decoder attends to the source without <pad>.", sentence.allowed["cross"], cross),
    )
    for column, (name, title, rule, mask, axes) in zip([*st.columns(2), *st.columns(2)], pictures, strict=True):
        with column:
            section(title, rule)
            draw(
                masks.mask_map(mask, axes, height=HEIGHT),
                key=f"{name}_mask",
                alt=f"The {name} mask: blue cells may attend, grey cells are masked",
            )


def show_batch(sentence: PaddedSentence) -> None:
    """Show all sentences of the batch with the ids of their tokens."""
    batch, texts = sentence.batch, loading.config_of(sentence.key).tokenizer
    section(
        "The batch",
        f"The id of each token is below it. The decoder reads “{visible(batch.read[sentence.row][0])}” first, then "
        "the translation: at each step, it reads the token before the one that it writes.",
    )
    padding = loading.translator(sentence.key).model.pad_id
    tables = (
        ("source", batch.source, batch.source_ids, texts.source_language),
        ("read by the decoder", batch.read, batch.read_ids, texts.target_language),
    )
    for column, (name, tokens, ids, language) in zip(st.columns(2), tables, strict=True):
        column.html(batch_table(name, tokens, ids, padding=padding, lang=tag(language)))


def draw_stages(
    stages: Mapping[str, NDArray[np.float32]], axes: Axes, allowed: NDArray[np.bool_], head_name: str
) -> None:
    """Draw the scores of one head before and after the mask, and its weights.

    Args:
        stages: Stage, one of `padded_batches.STAGES` → (T, S).
        axes: The labels of the map.
        allowed: The mask, (T, S).
        head_name: Such as "layer 1, head 2".
    """
    bound = float(np.abs(stages["scores"]).max()) or 1.0
    titles = {"scores": "Scores before the mask", "masked_scores": "Scores after the mask"}
    *columns, weights_column = st.columns(3)
    for column, (name, title) in zip(columns, titles.items(), strict=True):
        with column:
            st.caption(title)
            draw(
                masks.score_map(stages[name], axes, bound=bound, height=HEIGHT),
                key=f"stage_{name}",
                alt=f"{title} of {head_name}",
            )
    weights = stages["weights"]
    with weights_column:
        st.caption("Weights after the softmax")
        draw(
            head_map(weights, axes, allowed, height=HEIGHT),
            key="stage_weights",
            alt=f"Attention weights of {head_name} after the softmax",
        )
    on_masked_keys = float(np.where(allowed, 0.0, weights).max())
    worst_sum = float(np.abs(weights.sum(axis=-1) - 1).max())
    st.caption(
        f"Largest weight on a masked key: {on_masked_keys:g}. The row sums differ from 1 by at most {worst_sum:.2g}."
    )

"""The masks of a padded batch, and the scores of one head before and after its mask."""

from collections.abc import Mapping

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.checkpoints.languages import tag
from viz_app.content.numbers import sentences
from viz_app.content.plain import visible
from viz_app.content.translation import t
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
MaskPicture = tuple[str, str, str, NDArray[np.bool_], Axes]  # name, title, rule, mask (T, S), labels


def correct_masks(sentence: PaddedSentence) -> None:
    """Draw the masks of a sentence, its batch, and the scores of one head."""
    # The masks stand above the choice of a layer. With windows, they depend on it.
    masks_place, batch_place = st.container(), st.container(key="set_batch")  # while presenting, it stands last
    section(
        t("The scores of one head"),
        t(
            "Left: before the mask. Middle: after the mask (grey = −∞). Right: the weights after the softmax, exactly "
            "0 where masked."
        ),
    )
    kind, layer, head = pick_head_of_sentence(sentence)
    with masks_place:
        draw_masks(sentence, layer)
    with batch_place:
        show_batch(sentence)
    heads = padded_batches.score_stages_of(sentence.key, sentence.sentences, kind, layer, sentence.row, sentence.side)
    stages = {name: heads[name][head] for name in padded_batches.STAGES}  # each (T, S)
    draw_stages(
        stages,
        sentence.axes[kind],
        sentence.allowed[kind][layer],
        t("layer {layer}, head {head}", layer=layer + 1, head=head + 1),
    )
    explanation(
        t("How it is computed"),
        t(
            "The mask sets the scores of masked keys to minus infinity. e to the power of minus infinity is 0. So the "
            "softmax gives these keys a weight of exactly 0, and the other weights still sum to 1."
        ),
        r"\mathrm{softmax}\!\left(\frac{QK^\top}{\sqrt{d_k}} + M\right),\qquad M_{ij}\in\{0,-\infty\}",
    )


def draw_masks(sentence: PaddedSentence, layer: int) -> None:
    """Draw the padding mask of the batch, and the masks of the sentence in one layer."""
    batch = sentence.batch
    batch_axes = Axes(
        queries=[t("sentence {n}", n=i + 1) for i in range(len(sentence.sentences))],
        keys=[str(i) for i in range(batch.padding_mask.shape[1])],
        query_title=t("sentence"),
        key_title=t("key: source position") if "cross" in batch.allowed else t("key: position"),
    )
    pictures = [("padding", t("Padding mask"), t("No query may attend to padding."), batch.padding_mask, batch_axes)]
    pictures += masks_of_sentence(sentence, layer)
    width = 2 if len(pictures) % 2 == 0 else 3
    columns = [column for _ in range(0, len(pictures), width) for column in st.columns(width)]
    for column, (name, title, rule, mask, axes) in zip(columns[: len(pictures)], pictures, strict=True):
        with column:
            section(title, rule)
            draw(
                masks.mask_map(mask, axes, height=HEIGHT),
                key=f"{name}_mask",
                alt=t("{title}: blue cells may attend, grey cells are masked", title=title),
            )


def masks_of_sentence(sentence: PaddedSentence, layer: int) -> list[MaskPicture]:
    """The masks of the sentence in one layer, as the model used them."""
    found: list[MaskPicture] = []
    shown = {kind: every[min(layer, len(every) - 1)] for kind, every in sentence.allowed.items()}
    if "decoder" in shown:
        causal, axes = (
            sentence.batch.unpadded_mask("decoder", min(layer, len(sentence.allowed["decoder"]) - 1)),
            (sentence.axes["decoder"]),
        )
        title, rule = t("Causal mask"), t("No query may attend to a later token.")
        if (causal != np.tri(len(causal), dtype=bool)).any():
            title, rule = (
                t("Causal mask with a window"),
                t("In layer {layer}, a query sees only the tokens of its window.", layer=layer + 1),
            )
        found.append(("causal", title, rule, causal, axes))
        found.append(
            ("combined", t("Combined decoder mask"), t("No later token and no padding."), shown["decoder"], axes)
        )
    if "cross" in shown:
        rule = t("The decoder attends to the source without padding.")
        found.append(("cross", t("Cross mask"), rule, shown["cross"], sentence.axes["cross"]))
    elif "encoder" in shown:
        window = not sentence.batch.unpadded_mask("encoder", layer).all()
        rule = (
            t("In layer {layer}, a query sees only the tokens of its window.", layer=layer + 1)
            if window
            else t("All tokens, but no padding.")
        )
        found.append(("encoder", t("Mask of the sentence"), rule, shown["encoder"], sentence.axes["encoder"]))
    return found


def show_batch(sentence: PaddedSentence) -> None:
    """Show all sentences of the batch with the ids of their tokens."""
    batch, texts = sentence.batch, loading.config_of(sentence.key).tokenizer
    about = [t("The id of each token is below it. Padding is grey.")]
    source = (t("source"), batch.source, batch.source_ids, batch.source_real, texts.source_language)
    read = (t("read by the decoder"), batch.read, batch.read_ids, batch.read_real, texts.target_language)
    tables = [source, read]
    if "cross" in batch.allowed:
        about.append(
            t(
                "The decoder reads “{first}” first, then the translation: at each step, it reads the token before the "
                "one that it writes.",
                first=visible(batch.read[sentence.row][0]),
            )
        )
    else:
        tables = [(t("sentence"), *(read if "decoder" in batch.allowed else source)[1:])]
    if sentence.side == "right":
        about.append(t("The padding stands after the text. So the causal mask alone would exclude it already."))
    section(t("The batch"), sentences(about))
    for column, (name, tokens, ids, real, language) in zip(st.columns(len(tables)), tables, strict=True):
        column.html(batch_table(name, tokens, ids, real, lang=tag(language)))


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
    titles = {"scores": t("Scores before the mask"), "masked_scores": t("Scores after the mask")}
    *columns, weights_column = st.columns(3)
    for column, (name, title) in zip(columns, titles.items(), strict=True):
        with column:
            st.caption(title)
            draw(
                masks.score_map(stages[name], axes, bound=bound, height=HEIGHT),
                key=f"stage_{name}",
                alt=t("{title}: {head}", title=title, head=head_name),
            )
    weights = stages["weights"]
    with weights_column:
        st.caption(t("Weights after the softmax"))
        draw(
            head_map(weights, axes, allowed, height=HEIGHT),
            key="stage_weights",
            alt=t("{title}: {head}", title=t("Weights after the softmax"), head=head_name),
        )
    on_masked_keys = float(np.where(allowed, 0.0, weights).max())
    worst_sum = float(np.abs(weights.sum(axis=-1) - 1).max())
    st.caption(
        t(
            "Largest weight on a masked key: {weight}. The row sums differ from 1 by at most {difference}.",
            weight=f"{on_masked_keys:g}",
            difference=f"{worst_sum:.2g}",
        )
    )

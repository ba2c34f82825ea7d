"""The sentences of a padded batch, the one that the tabs show, and its correct masks."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.analysis.padded_batch import STAGES, PaddedBatch, layer_stages, usual_side
from model.checkpoints.languages import tag
from model.config.kinds import KINDS
from model.inference.opening import AnyConfig
from model.inference.passes import Side
from model.inference.run import Run
from model.interventions import Head
from viz_app.components.page_parts import add_fact
from viz_app.content.examples import batch_examples
from viz_app.content.numbers import sentences
from viz_app.content.plain import plain, visible
from viz_app.content.shared import MAX_SENTENCES
from viz_app.content.translation import N_, t
from viz_app.figures.heat_maps import mask_map, score_map
from viz_app.figures.style import Axes
from viz_app.server.streamlit_bridge import DeltaGenerator
from viz_app.services import models
from viz_app.services.analyses import analysis_of, batch_of
from viz_app.services.atlases import shown_atlas
from viz_app.services.attention_view import ONE_TEXT
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import choices, set_choice, settle
from viz_app.session.page_end import end_page
from viz_app.widgets.atlas_links import MapOf, draw_head_map
from viz_app.widgets.charts import draw
from viz_app.widgets.choosing import choose
from viz_app.widgets.head_picker import choose_window, heads_per_kind, pick_kind_and_head, picker_columns
from viz_app.widgets.headings import explain, section
from viz_app.widgets.marked_text import lang_attribute
from viz_app.widgets.run_form import note_greedy_search, separator_in
from viz_app.widgets.text_notes import note_cleaning

__all__ = [
    "PaddedSentence",
    "batch_table",
    "clearest_row",
    "correct_masks",
    "pick_head_of_sentence",
    "require_sentence",
]

SIDES: dict[Side, str] = {"left": N_("On the left"), "right": N_("On the right")}
USUAL_SIDES: dict[Side, str] = {
    "left": N_("The tokenizer of this model pads on the left."),
    "right": N_("The tokenizer of this model pads on the right."),
}
OTHER_MASKS = re.compile(r"\[MASK\]|<mask>")
HEIGHT = 360
MaskPicture = tuple[str, str, str, NDArray[np.bool_], Axes]  # name, title, rule, mask (T, S), labels


@dataclass(frozen=True, kw_only=True)
class PaddedSentence:
    """One sentence of a padded batch, with the labels and the masks of its attention maps."""

    key: CheckpointKey
    sentences: tuple[str, ...]  # of the whole batch, two or more
    row: int  # of this sentence in the batch
    side: Side | None  # where a language model gets its padding
    batch: PaddedBatch
    axes: Mapping[str, Axes]  # kind → labels of its maps
    allowed: Mapping[str, NDArray[np.bool_]]  # kind → masks (L, T, S), True where a query may attend


def ask_for_sentences(config: AnyConfig) -> tuple[tuple[str, ...], DeltaGenerator]:
    """Ask for the sentences of the batch; return those that are not empty, and a free column beside their fields."""
    # The fields of a language without examples use the names of another list: links know only these names.
    list_name, examples = batch_examples(config)
    mask = getattr(config.tokenizer, "mask", "")
    with st.container(key="set_masks"):
        *fields, free_column = st.columns(MAX_SENTENCES + 1)
    texts = []
    for number, field in enumerate(fields, start=1):
        name = f"batch_{list_name}_{number}"
        settle(name, examples[number - 1] if number <= len(examples) else "")
        if list_name == "masked" and OTHER_MASKS.sub(mask, st.session_state[name]) != st.session_state[name]:
            set_choice(name, OTHER_MASKS.sub(mask, st.session_state[name]))  # another model has another mask token
        label = t("Sentence {n}", n=number) if number <= 2 else t("Sentence {n} (optional)", n=number)
        # A sentence wraps, so that it is seen whole. Enter ends it (`streamlit/keys.js`); a pasted break is a space.
        texts.append(" ".join((field.text_area(label, key=name, max_chars=400, height="content") or "").split()))
    if separator := separator_in(config):
        st.caption(t("For a pair of texts, type {separator} between them.", separator=plain(separator)))
    note_cleaning(config, *texts)
    return tuple(text for text in texts if text), free_column


def pick_side(key: CheckpointKey) -> Side | None:
    """Choose where a language model gets its padding; by default where its tokenizer pads. None for other models."""
    usual = analysis_of(usual_side, key)
    if usual is None:
        return None
    why_left = t(
        "Where many texts are continued at once, the padding is on the left, because new tokens follow on the right."
    )
    return choose(
        t("Padding"),
        {side: t(label) for side, label in SIDES.items()},
        key="padding_side",
        default=usual,
        hint=sentences([t(USUAL_SIDES[usual]), why_left]),
    )


def pick_row(batch: PaddedBatch) -> int:
    """Choose a sentence of the batch, counted from 0.

    The bug lab opens with the first sentence, because its mistakes change that one. The masks open with a sentence that
    shows a triangle and padding.
    """
    in_bug_lab = choices().chosen.get("mask_tab") == "bugs"
    numbers = {i: str(i) for i in range(1, len(batch.source) + 1)}
    usual = 1 if in_bug_lab else 1 + clearest_row(batch)
    return choose(t("Show sentence"), numbers, key="sentence", default=usual) - 1


def clearest_row(batch: PaddedBatch) -> int:
    """Return the sentence with the largest triangle among those with padding, or 0 if none has padding."""
    real = batch.read_real if batch.read_real.size else batch.source_real
    lengths = real.sum(axis=1)  # (B,), tokens that are not padding
    return int(np.where(lengths < real.shape[1], lengths, 0).argmax())


def require_sentence(key: CheckpointKey) -> PaddedSentence:
    """Ask for the sentences of a batch, and for the one that is shown.

    Raises:
        PageEnded: there are fewer than two sentences.
    """
    config = models.config_of(key)
    sentences, row_column = ask_for_sentences(config)
    if len(sentences) < 2:
        end_page(t("Type at least two sentences: one sentence needs no padding."))
    add_fact(t("Sentences"), " / ".join(sentences))
    if config.task == "translation":
        note_greedy_search()
    side = pick_side(key)
    batch = batch_of(key, sentences, side).answer()
    with row_column:
        row = pick_row(batch)
    tokens = {"source": batch.source[row], "read": batch.read[row], "written": batch.written[row]}
    return PaddedSentence(
        key=key,
        sentences=sentences,
        row=row,
        side=side,
        batch=batch,
        axes={
            name: Axes(
                queries=tokens[kind.queries],
                keys=tokens[kind.keys],
                query_title=t("query: {token}", token=title_of(kind.query, batch)),
                key_title=t("key: {token}", token=title_of(kind.key, batch)),
            )
            for name, kind in KINDS.items()
            if name in batch.allowed
        },
        allowed={kind: masks[:, row] for kind, masks in batch.allowed.items()},
    )


def title_of(title: str, batch: PaddedBatch) -> str:
    """The title without "source" and "target" if the model has only one text."""
    return t(title if "cross" in batch.allowed else ONE_TEXT[title])


def pick_head_of_sentence(sentence: PaddedSentence, *, key: str = "") -> tuple[str, int, int]:
    """Choose a kind of attention, a layer and a head; both tabs keep the same choice, in a row with this key."""
    columns, sizes = picker_columns("kind", "head", key=key), heads_per_kind(models.config_of(sentence.key))
    return pick_kind_and_head(columns, sizes, key="mask_kind", default="decoder")


def correct_masks(sentence: PaddedSentence) -> None:
    """Draw the masks of a sentence, its batch, and the scores of one head."""
    # The masks stand above the choice of a layer. With windows, they depend on it.
    masks_place, batch_place = st.container(), st.container(key="set_batch")  # while presenting, it stands last
    section(
        t("The scores of one head"),
        t(
            "The scores before the mask, after it (grey is minus infinity), and the weights after the softmax, exactly "
            "0 where masked."
        ),
    )
    kind, layer, head = pick_head_of_sentence(sentence)
    with masks_place:
        draw_masks(sentence, layer)
    with batch_place:
        show_batch(sentence)
    batch = batch_of(sentence.key, sentence.sentences, sentence.side)
    heads = analysis_of(layer_stages, sentence.key, batch, kind, layer, sentence.row)
    stages = {name: heads[name][head] for name in STAGES}  # each (T, S)
    draw_stages(sentence, stages, Head(kind, layer, head))
    explain("masks")


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
            draw(
                mask_map(mask, axes, height=HEIGHT),
                heading=title,
                about=rule,
                key=f"{name}_mask",
                alt=t("{title}: blue cells may attend, grey cells are masked", title=title),
            )


def masks_of_sentence(sentence: PaddedSentence, layer: int) -> list[MaskPicture]:
    """The masks of the sentence in one layer, as the model used them."""
    found: list[MaskPicture] = []
    shown = {kind: every[min(layer, len(every) - 1)] for kind, every in sentence.allowed.items()}
    if "decoder" in shown:
        axes = sentence.axes["decoder"]
        causal = sentence.batch.unpadded_mask("decoder", min(layer, len(sentence.allowed["decoder"]) - 1))
        title, rule = t("Causal mask"), t("No query may attend to a later token.")
        if (causal != np.tri(len(causal), dtype=bool)).any():
            title = t("Causal mask with a window")
            rule = t("In layer {layer}, a query sees only the tokens of its window.", layer=layer + 1)
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
    batch, texts = sentence.batch, models.config_of(sentence.key).tokenizer
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


def draw_stages(sentence: PaddedSentence, stages: Mapping[str, NDArray[np.float32]], head: Head) -> None:
    """Draw the scores of a head before and after the mask, and its weights; stage, one of `STAGES` → (T, S)."""
    axes, allowed = sentence.axes[head.kind], sentence.allowed[head.kind][head.layer]
    head_name = t("layer {layer}, head {head}", layer=head.layer + 1, head=head.head + 1)
    bound, weights = float(np.abs(stages["scores"]).max()) or 1.0, stages["weights"]
    pictures = {
        "scores": (t("Scores before the mask"), score_map(stages["scores"], axes, bound=bound, height=HEIGHT)),
        "masked_scores": (
            t("Scores after the mask"),
            score_map(stages["masked_scores"], axes, bound=bound, height=HEIGHT),
        ),
    }
    for column, (name, (title, picture)) in zip(st.columns(2), pictures.items(), strict=True):
        with column:
            st.caption(title)
            draw(picture, key=f"stage_{name}", alt=t("{title}: {head}", title=title, head=head_name))
    title = t("Weights after the softmax")
    with st.columns(2)[0]:  # a third of a projector is too narrow for a batch and its colour bar
        st.caption(title)
        draw_head_map(
            weights,
            axes,
            allowed,
            window=choose_window(weights, axes),
            of=map_of(sentence, head),
            key="stage_weights",
            alt=t("{title}: {head}", title=title, head=head_name),
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


def map_of(sentence: PaddedSentence, head: Head) -> MapOf | None:
    """Whose weights the map of a sentence has: those of the sentence alone, with padding around them.

    None without an atlas, because the sentence alone is another run.
    """
    if shown_atlas(sentence.key) is None:
        return None
    result = models.result_of(sentence.key, Run(text=sentence.sentences[sentence.row]))
    left = sentence.batch.read_real.shape[1] - int(sentence.batch.read_real[sentence.row].sum())
    before = left if sentence.side == "left" else 0  # only a language model has padding on the left, on both axes
    return MapOf(checkpoint=sentence.key, head=head, result=result, padding=before)


def batch_table(
    name: str, tokens: Sequence[Sequence[str]], ids: NDArray[np.int64], real: NDArray[np.bool_], *, lang: str = ""
) -> str:
    """HTML of a padded batch: one row per sentence, with each token above its id.

    Args:
        name: The name of the rows, such as "source".
        tokens: B × S, as text.
        ids: (B, S).
        real: False at padding, which is grey, (B, S).
        lang: The language of the sentences, see `languages.tag`.
    """
    language = lang_attribute(lang)
    rows = "".join(
        f'<tr><th scope="row">{escape(name)} {number}</th>'
        + "".join(
            f"<td{language if is_real else ' class=hl-pad'}>{escape(visible(token))}<span>{i}</span></td>"
            for token, i, is_real in zip(line, line_ids.tolist(), line_real.tolist(), strict=True)
        )
        + "</tr>"
        for number, (line, line_ids, line_real) in enumerate(zip(tokens, ids, real, strict=True), start=1)
    )
    label = t("Tokens of the batch above their ids: {name}", name=name)
    return f'<div class="hl-batch" role="region" aria-label="{escape(label)}" tabindex="0"><table>{rows}</table></div>'

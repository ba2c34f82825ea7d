"""The fields for the sentences of a batch, and the one sentence that the tabs show."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.analysis.padded_batch import PaddedBatch
from model.config.kinds import KINDS
from model.inference.opening import AnyConfig
from model.inference.padded_pass import Side
from viz_app.components.attention_view import ONE_TEXT
from viz_app.content.examples import batch_examples
from viz_app.content.limits import MAX_SENTENCES
from viz_app.content.numbers import sentences
from viz_app.content.plain import plain
from viz_app.content.translation import N_, t
from viz_app.figures.style import Axes
from viz_app.server.streamlit_bridge import DeltaGenerator
from viz_app.services import loading, padded_batches
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import choices, set_choice, settle
from viz_app.widgets.cleaning_note import note_cleaning
from viz_app.widgets.head_picker import heads_per_kind, pick_kind_and_head, picker_columns
from viz_app.widgets.second_text import separator_in

__all__ = [
    "PaddedSentence",
    "ask_for_sentences",
    "clearest_row",
    "padded_sentence",
    "pick_head_of_sentence",
    "pick_row",
    "pick_side",
]

SIDES: dict[Side, str] = {"left": N_("On the left"), "right": N_("On the right")}
USUAL_SIDES: dict[Side, str] = {
    "left": N_("The tokenizer of this model pads on the left."),
    "right": N_("The tokenizer of this model pads on the right."),
}
OTHER_MASKS = re.compile(r"\[MASK\]|<mask>")


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
        # A sentence wraps, so that it is seen whole. Enter ends it, see `shortcuts.js`; a pasted line break is a space.
        texts.append(" ".join((field.text_area(label, key=name, max_chars=400, height="content") or "").split()))
    if separator := separator_in(config):
        st.caption(t("For a pair of texts, type {separator} between them.", separator=plain(separator)))
    note_cleaning(config, *texts)
    return tuple(text for text in texts if text), free_column


def pick_side(key: CheckpointKey) -> Side | None:
    """Choose where a language model gets its padding; by default where its tokenizer pads. None for other models."""
    usual = padded_batches.usual_side(key)
    if usual is None:
        return None
    settle("padding_side", usual, SIDES)
    side: Side | None = st.segmented_control(
        t("Padding"),
        list(SIDES),
        format_func=lambda one: t(SIDES[one]),
        required=True,
        key="padding_side",
        help=sentences(
            [
                t(USUAL_SIDES[usual]),
                t(
                    "Where many texts are continued at once, the padding is on the left, because new tokens follow on "
                    "the right."
                ),
            ]
        ),
    )
    return side or usual


def pick_row(batch: PaddedBatch) -> int:
    """Choose a sentence of the batch, counted from 0.

    The bug lab opens with the first sentence, because its mistakes change that one. The masks open with a sentence that
    shows a triangle and padding.
    """
    in_bug_lab = choices().chosen.get("mask_tab") == "bugs"
    numbers = list(range(1, len(batch.source) + 1))
    settle("sentence", 1 if in_bug_lab else 1 + clearest_row(batch), numbers)
    number = st.segmented_control(t("Show sentence"), numbers, required=True, key="sentence")
    return (number or 1) - 1


def clearest_row(batch: PaddedBatch) -> int:
    """Return the sentence with the largest triangle among those with padding, or 0 if none has padding."""
    real = batch.read_real if batch.read_real.size else batch.source_real
    lengths = real.sum(axis=1)  # (B,), tokens that are not padding
    return int(np.where(lengths < real.shape[1], lengths, 0).argmax())


def padded_sentence(
    key: CheckpointKey, sentences: tuple[str, ...], batch: PaddedBatch, row: int, side: Side | None
) -> PaddedSentence:
    """Return one sentence of a batch with the labels and the masks of all kinds of attention."""
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
    """Choose a kind of attention, a layer and a head; both tabs keep the same choice.

    Args:
        sentence: The sentence that is shown.
        key: The key of the row of pickers, which style sheets use.
    """
    columns, sizes = picker_columns("kind", "head", key=key), heads_per_kind(loading.config_of(sentence.key))
    return pick_kind_and_head(columns, sizes, key="mask_kind", default="decoder")

"""The fields for the sentences of a batch, and the one sentence that the tabs show."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import streamlit as st
from numpy.typing import NDArray

from model.analysis.padded_batch import PaddedBatch
from model.config.kinds import KINDS
from model.inference.opening import AnyConfig
from viz_app.content.examples import BATCHES
from viz_app.figures.style import Axes
from viz_app.server.streamlit_bridge import DeltaGenerator
from viz_app.services import loading
from viz_app.services.listing import CheckpointKey
from viz_app.session.choices import choices, settle
from viz_app.widgets.head_picker import heads_per_kind, pick_kind_and_head, picker_columns

__all__ = [
    "PaddedSentence",
    "ask_for_sentences",
    "clearest_row",
    "padded_sentence",
    "pick_head_of_sentence",
    "pick_row",
]

MAX_SENTENCES = 4


@dataclass(frozen=True, kw_only=True)
class PaddedSentence:
    """One sentence of a padded batch, with the labels and the masks of its attention maps."""

    key: CheckpointKey  # of a translator
    sentences: tuple[str, ...]  # of the whole batch, two or more
    row: int  # of this sentence in the batch
    batch: PaddedBatch
    axes: Mapping[str, Axes]  # kind → labels of its maps
    allowed: Mapping[str, NDArray[np.bool_]]  # kind → mask (T, S), True where a query may attend


def ask_for_sentences(config: AnyConfig) -> tuple[tuple[str, ...], DeltaGenerator]:
    """Ask for the sentences of the batch; return those that are not empty, and a free column beside their fields."""
    # The fields of a language without examples use the names of another list: links know only these names.
    language = config.tokenizer.source_language
    language = language if language in BATCHES else "en"
    with st.container(key="set_masks"):
        *fields, free_column = st.columns(MAX_SENTENCES + 1, vertical_alignment="bottom")
    texts = []
    for number, field in enumerate(fields, start=1):
        name, examples = f"batch_{language}_{number}", BATCHES[language]
        settle(name, examples[number - 1] if number <= len(examples) else "")
        label = f"Sentence {number}" if number <= 2 else f"Sentence {number} (optional)"
        texts.append(field.text_input(label, key=name, max_chars=400))
    return tuple(text for text in texts if text and text.strip()), free_column


def pick_row(batch: PaddedBatch) -> int:
    """Choose a sentence of the batch, counted from 0.

    The bug lab opens with the first sentence, because its mistakes change that one. The masks open with a sentence that
    shows a triangle and padding.
    """
    in_bug_lab = choices().chosen.get("mask_tab") == "bugs"
    numbers = list(range(1, len(batch.source) + 1))
    settle("sentence", 1 if in_bug_lab else 1 + clearest_row(batch), numbers)
    number = st.segmented_control("Show sentence", numbers, required=True, key="sentence")
    return (number or 1) - 1


def clearest_row(batch: PaddedBatch) -> int:
    """Return the sentence with the largest triangle among those with padding, or 0 if none has padding."""
    lengths = batch.decoder_mask.any(axis=1).sum(axis=-1)  # (B,), tokens that are not padding
    return int(np.where(lengths < batch.decoder_mask.shape[-1], lengths, 0).argmax())


def padded_sentence(key: CheckpointKey, sentences: tuple[str, ...], batch: PaddedBatch, row: int) -> PaddedSentence:
    """Return one sentence of a batch with the labels and the masks of all kinds of attention."""
    tokens = {"source": batch.source[row], "read": batch.read[row], "written": batch.written[row]}
    not_padding = batch.padding_mask[row]  # (S,)
    return PaddedSentence(
        key=key,
        sentences=sentences,
        row=row,
        batch=batch,
        axes={
            name: Axes(
                queries=tokens[kind.queries],
                keys=tokens[kind.keys],
                query_title=f"query: {kind.query}",
                key_title=f"key: {kind.key}",
            )
            for name, kind in KINDS.items()
        },
        allowed={
            "encoder": np.broadcast_to(not_padding, (len(batch.source[row]), len(not_padding))),
            "decoder": batch.decoder_mask[row],
            "cross": np.broadcast_to(not_padding, (len(batch.read[row]), len(not_padding))),
        },
    )


def pick_head_of_sentence(sentence: PaddedSentence, *, key: str = "") -> tuple[str, int, int]:
    """Choose a kind of attention, a layer and a head; both tabs keep the same choice.

    Args:
        sentence: The sentence that is shown.
        key: The key of the row of pickers, which style sheets use.
    """
    columns, sizes = picker_columns("kind", "head", key=key), heads_per_kind(loading.config_of(sentence.key))
    return pick_kind_and_head(columns, sizes, key="mask_kind", default="decoder")

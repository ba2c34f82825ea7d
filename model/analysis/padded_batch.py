"""A few sentences as one padded batch, with the masks that the model used and the scores around them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.availability import require_masks
from model.checkpoints.checkpoint import Loaded
from model.inference.passes import Ids, PaddedIds, Side, batch_logits, encode_texts, pad_ids
from model.inference.run import BoolArray, FloatArray, labelled, parts_of
from model.network.protocols import Reads, ReadsBatches
from model.text.encoding import Tokenizer
from model.text.pair import Text
from model.trace import Edit, hook_name, tracing

__all__ = ["STAGES", "PaddedBatch", "ids_of", "layer_stages", "padded_batch", "usual_side"]

STAGES = ("scores", "masked_scores", "weights")


@dataclass(frozen=True, kw_only=True)
class PaddedBatch:
    """A few sentences, and their translations if the model translates, as one padded batch.

    The encoder reads `source`, the decoder `read`. Where a model has no encoder or no decoder, S or T is 0. A mask is
    True where a query may attend. It is recorded from the run of the batch.
    """

    source_ids: NDArray[np.int64]  # (B, S)
    read_ids: NDArray[np.int64]  # (B, T)
    source: tuple[tuple[str, ...], ...]  # B × S, as text
    read: tuple[tuple[str, ...], ...]  # B × T
    written: tuple[tuple[str, ...], ...]  # B × T: the token after each one that a translator reads
    source_real: BoolArray  # (B, S): False at padding
    read_real: BoolArray  # (B, T): False at padding
    allowed: Mapping[str, BoolArray]  # kind → (L, B, queries, keys)

    @property
    def padding_mask(self) -> BoolArray:
        """False at the padding of the sentences, (B, S); of a language model (B, T)."""
        return self.source_real if self.source_real.shape[1] else self.read_real

    def unpadded_mask(self, kind: str, layer: int) -> BoolArray:
        """The mask of the longest sentence, which has no padding, (queries, keys): the causal mask, or a window."""
        real = self.source_real if kind == "encoder" else self.read_real
        return np.asarray(self.allowed[kind][layer, int(real.sum(axis=1).argmax())])


def usual_side(checkpoint: Loaded) -> Side | None:
    """Where the tokenizer of a language model pads; None of other models, which have their padding on the right."""
    return checkpoint.model.padding.side if isinstance(checkpoint.model, ReadsBatches) else None


def padded_batch(
    checkpoint: Loaded, texts: Sequence[Text], side: Side | None = None, written: Ids | None = None
) -> PaddedBatch:
    """Combine a few texts in one padded batch, and run it.

    Args:
        checkpoint: A loaded checkpoint of any task; never changed.
        texts: At least one.
        side: Where a language model gets its padding, see `pad_ids`.
        written: The ids of the translations, see `encode_texts`.

    Raises:
        ConfigError: the model has no padding mask.
    """
    model, tokenizers = require_masks(checkpoint), checkpoint.tokenizers
    encoded = encode_texts(checkpoint, texts, written)
    ids = pad_ids(model, encoded.source, encoded.read, side=side)
    masks: dict[tuple[str, int], BoolArray] = {}  # (kind, layer) → (B, queries, keys)

    def keep(place: tuple[str, int], masked_scores: Tensor) -> Tensor:  # (B, H, T, S)
        masks[place] = (masked_scores[:, 0] != float("-inf")).cpu().numpy()
        return masked_scores

    edits = {hook_name(*place, "masked_scores"): partial(keep, place) for place in model.config.attention_layers}
    with torch.inference_mode(), tracing(record=(), edits=edits):
        batch_logits(model, ids, first=-1)
    padded_written = pad_ids(model, encoded.source, encoded.written).read
    parts = [
        parts_of(tokenizers, tokenizers.encode(text, len(row)), len(row))
        for text, row in zip(texts, encoded.source, strict=True)
    ]
    return PaddedBatch(
        source_ids=ids.source.cpu().numpy(),
        read_ids=ids.read.cpu().numpy(),
        source=tuple(map(named_by_part, as_text(tokenizers.source, ids.source), parts)),
        read=as_text(tokenizers.target, ids.read),
        written=as_text(tokenizers.target, padded_written),
        source_real=ids.source_real.cpu().numpy(),
        read_real=ids.read_real.cpu().numpy(),
        allowed={
            kind: np.stack([masks[kind, layer] for layer in range(model.config.num_layers(kind))])
            for kind in model.config.kinds
        },
    )


def named_by_part(tokens: Sequence[str], parts: Sequence[str]) -> tuple[str, ...]:
    """The tokens of a text and its padding, with the names of the parts of a pair."""
    return (*map(labelled, tokens, parts), *tokens[len(parts) :])


def as_text(tokenizer: Tokenizer, ids: Tensor) -> tuple[tuple[str, ...], ...]:
    return tuple(tokenizer.tokens(row) for row in ids.tolist())


def ids_of(model: Reads, batch: PaddedBatch) -> PaddedIds:
    """The token ids of a batch on the model's device."""
    source, read, source_real, read_real = (
        torch.tensor(array, device=model.device)
        for array in (batch.source_ids, batch.read_ids, batch.source_real, batch.read_real)
    )
    return PaddedIds(source=source, read=read, source_real=source_real, read_real=read_real)


@torch.inference_mode()
def layer_stages(
    checkpoint: Loaded,
    batch: PaddedBatch,
    kind: str,
    layer: int,
    row: int | None = None,
    *,
    edits: Mapping[str, Edit] | None = None,
) -> dict[str, FloatArray]:
    """Run the batch, and keep the scores of one attention layer before the mask, after it and after the softmax.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        batch: From `padded_batch` with the same checkpoint.
        kind: One of the model's kinds.
        layer: Counted from 0.
        row: Of one text; all by default.
        edits: See `tracing`.

    Returns:
        Stage → (B, H, T, S), or (H, T, S) of one text, for each of the `STAGES`.
    """
    model = require_masks(checkpoint)
    names = {stage: hook_name(kind, layer, stage) for stage in STAGES}
    with tracing(record=tuple(names.values()), edits=edits) as trace:
        batch_logits(model, ids_of(model, batch), first=-1)
    scores = {stage: trace.passes(name)[0].numpy() for stage, name in names.items()}
    return scores if row is None else {stage: found[row] for stage, found in scores.items()}

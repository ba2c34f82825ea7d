"""A few sentences as one padded batch, with its masks and with the scores of every head before and after them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from model.analysis.availability import require_masks
from model.checkpoints.checkpoint import Checkpoint
from model.inference.padding import padded_for
from model.inference.searching import greedy_ids, source_ids
from model.network.masks import causal_mask, decoder_mask, padding_mask
from model.trace import hook_name, tracing

__all__ = ["STAGES", "PaddedBatch", "layer_stages", "padded_batch"]

STAGES = ("scores", "masked_scores", "weights")
FloatArray = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class PaddedBatch:
    """A few sentences and their translations as one padded batch, with its masks.

    `<pad>` fills the rows of `source` and `read` to the same length. A mask is True where a query may attend.
    """

    source_ids: NDArray[np.int64]  # (B, S)
    read_ids: NDArray[np.int64]  # (B, T)
    source: tuple[tuple[str, ...], ...]  # B × S, as text
    read: tuple[tuple[str, ...], ...]  # B × T
    written: tuple[tuple[str, ...], ...]  # B × T: what each position writes, the token after the one that it reads
    padding_mask: NDArray[np.bool_]  # (B, S)
    causal_mask: NDArray[np.bool_]  # (T, T)
    decoder_mask: NDArray[np.bool_]  # (B, T, T)


def padded_batch(checkpoint: Checkpoint, texts: Sequence[str]) -> PaddedBatch:
    """Translate a few texts, and combine the texts and their translations in one padded batch.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        texts: At least one.

    Raises:
        ConfigError: the model has no padding mask or no causal mask.
    """
    model, tokenizers = require_masks(checkpoint), checkpoint.tokenizers
    pad_id, specials = model.pad_id, tokenizers.specials
    source = padded_for(model, [source_ids(tokenizers, text, model.config.max_length)[0] for text in texts])
    written = greedy_ids(model, [row[row != pad_id].tolist() for row in source], specials=specials)
    read, ahead = padded_for(model, [[specials.bos, *ids[:-1]] for ids in written]), padded_for(model, written)
    source, read, ahead = source.cpu(), read.cpu(), ahead.cpu()
    return PaddedBatch(
        source_ids=source.numpy(),
        read_ids=read.numpy(),
        source=tuple(tokenizers.source.tokens(row.tolist()) for row in source),
        read=tuple(tokenizers.target.tokens(row.tolist()) for row in read),
        written=tuple(tokenizers.target.tokens(row.tolist()) for row in ahead),
        padding_mask=padding_mask(source, pad_id)[:, 0, 0].numpy(),
        causal_mask=causal_mask(read.size(1), device=read.device)[0, 0].numpy(),
        decoder_mask=decoder_mask(read, pad_id)[:, 0].numpy(),
    )


@torch.inference_mode()
def layer_stages(checkpoint: Checkpoint, batch: PaddedBatch, kind: str, layer: int) -> dict[str, FloatArray]:
    """Run the batch, and keep the scores of one attention layer before the mask, after it and after the softmax.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        batch: From `padded_batch` with the same checkpoint.
        kind: One of `KINDS`.
        layer: Counted from 0.

    Returns:
        Stage → (B, H, T, S), for each of the `STAGES`.
    """
    model = require_masks(checkpoint)
    names = {stage: hook_name(kind, layer, stage) for stage in STAGES}
    with tracing(record=tuple(names.values())) as trace:
        model(*(padded_for(model, ids.tolist()) for ids in (batch.source_ids, batch.read_ids)))
    return {stage: trace.passes(name)[0].numpy() for stage, name in names.items()}

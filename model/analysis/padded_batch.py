"""A few sentences as one padded batch, with the masks that keep them apart and every head's scores on the way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from model.checkpoint import Checkpoint
from model.corpora.batching import pad
from model.inference.translate import source_ids, translated_ids
from model.network.masks import causal_mask, decoder_mask, padding_mask
from model.text.vocab import BOS_ID, PAD_ID
from model.trace import hook_name, tracing

__all__ = ["STAGES", "PaddedBatch", "padded_batch"]

STAGES = ("scores", "masked_scores", "weights")
FloatArray = NDArray[np.float32]


@dataclass(frozen=True, kw_only=True)
class PaddedBatch:
    """A few sentences run through the model as one padded batch, with what its masks did.

    Rows of `source` and `read` are filled with `<pad>` to one length; all masks are True where a query may attend.
    """

    source_ids: NDArray[np.int64]  # (B, S)
    read_ids: NDArray[np.int64]  # (B, T)
    source: tuple[tuple[str, ...], ...]  # B × S, as shown to a person
    read: tuple[tuple[str, ...], ...]  # B × T
    written: tuple[tuple[str, ...], ...]  # B × T: what each position writes, one token ahead of what it reads
    padding_mask: NDArray[np.bool_]  # (B, S)
    causal_mask: NDArray[np.bool_]  # (T, T)
    decoder_mask: NDArray[np.bool_]  # (B, T, T)
    stages: Mapping[str, FloatArray]  # "<kind>.<stage>" → (L, B, H, T, S); kinds as in AttentionMaps


def padded_batch(checkpoint: Checkpoint, texts: Sequence[str]) -> PaddedBatch:
    """Translate the texts one by one, then read texts and translations again as one padded batch.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        texts: At least one.
    """
    model, tokenizers = checkpoint.model, checkpoint.tokenizers
    source = pad([source_ids(tokenizers, text, model.config.max_length)[0] for text in texts])
    written = translated_ids(model, [row[row != PAD_ID].tolist() for row in source])
    read, ahead = pad([[BOS_ID, *ids[:-1]] for ids in written]), pad(written)
    with torch.inference_mode(), tracing(record=[f"*.{stage}" for stage in STAGES]) as trace:
        model(source, read)
    stages = {
        f"{kind}.{stage}": torch.stack(
            [trace.passes(hook_name(kind, layer, stage))[0] for layer in range(model.config.layers_of(kind))]
        ).numpy()
        for kind in model.config.kinds
        for stage in STAGES
    }
    return PaddedBatch(
        source_ids=source.numpy(),
        read_ids=read.numpy(),
        source=tuple(tokenizers.source.tokens(row.tolist()) for row in source),
        read=tuple(tokenizers.target.tokens(row.tolist()) for row in read),
        written=tuple(tokenizers.target.tokens(row.tolist()) for row in ahead),
        padding_mask=padding_mask(source, PAD_ID)[:, 0, 0].numpy(),
        causal_mask=causal_mask(read.size(1))[0, 0].numpy(),
        decoder_mask=decoder_mask(read, PAD_ID)[:, 0].numpy(),
        stages=stages,
    )

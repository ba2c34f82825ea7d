"""Passes of a model over token ids, without a search: equal rows of one text, or a padded batch of a few texts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from model.checkpoints.checkpoint import Loaded
from model.corpora.batch import pad
from model.corpora.examples import shortened
from model.decoding.search import greedy_ids
from model.inference.run import Recording, Result
from model.network.protocols import PredictsMasked, Reads, ReadsBatches, Writes, classifies
from model.text.pair import Text
from model.trace import Edit, tracing

__all__ = [
    "EncodedTexts",
    "Ids",
    "PaddedIds",
    "Side",
    "batch_logits",
    "encode_texts",
    "pad_ids",
    "padded_for",
    "pass_over",
    "record_again",
]

Side = Literal["left", "right"]
Ids = Sequence[Sequence[int]]  # one sequence for each text; an empty one where a model has no encoder or no decoder


def padded_for(model: Reads, ids: Sequence[Sequence[int]]) -> Tensor:
    """Stack B sequences of ids into (B, S) on the model's device; short ones end in `model.pad_id`."""
    return pad(ids, pad_id=model.pad_id, device=model.device)


def pass_over(
    model: Reads, source: Sequence[int], read: Sequence[int], *, first: int = -1
) -> Callable[..., Tensor | None]:
    """A function that runs a model over a batch of equal rows.

    Args:
        model: In evaluation mode.
        source: The ids that the encoder read; empty in a language model.
        read: The ids that the decoder read; empty in a model that only reads.
        first: The first position of the decoder whose logits are needed; −1 is the last one.

    Returns:
        rows → logits: (B, T − first, V), (B, S, V) of an encoder, (B, 1, C) of a classifier; None of an encoder that
        predicts nothing. The encoder of a model that writes runs once, at the call of `pass_over`. With `encode=True`
        it runs again, for each row.
    """
    ids = padded_for(model, [read or source])  # (1, T)
    if classifies(model):
        return lambda rows, encode=False: model(ids.expand(rows, -1))[:, None]
    if not isinstance(model, Writes):
        assert isinstance(model, PredictsMasked)
        return lambda rows, encode=False: model.read(ids.expand(rows, -1))
    given = padded_for(model, [source or read[:1]])  # a language model has no encoder, and encodes nothing
    encoded = model.encode(given)

    def decode(rows: int, encode: bool = False) -> Tensor:
        memory, mask = (
            model.encode(given.expand(rows, -1)) if encode else (part.expand(rows, *part.shape[1:]) for part in encoded)
        )
        # An edit in the encoder may have made several rows of one.
        return model.decode(ids.expand(len(memory), -1), memory, None if bool(mask.all()) else mask, first=first)

    return decode


@torch.inference_mode()
def record_again(
    model: Reads, translation: Result, record: Sequence[str], *, edits: Mapping[str, Edit] | None = None
) -> Recording:
    """Record hook points in one pass over everything that a model read in a run.

    It is many times as fast as a search, which runs the decoder once per token.

    Args:
        model: The model of the run.
        translation: The result of the run.
        record: Patterns for the names of hook points.
        edits: See `tracing`; those of the run.
    """
    source, read = ([token.id for token in tokens] for tokens in (translation.source, translation.read))
    with tracing(record=record, edits=edits) as trace:
        pass_over(model, source, read)(1)
    return Recording(trace=trace)


@dataclass(frozen=True, kw_only=True)
class EncodedTexts:
    """The token ids of a few texts."""

    source: Ids  # what the encoder reads
    read: Ids  # what the decoder reads
    written: Ids  # the translations


@dataclass(frozen=True, kw_only=True)
class PaddedIds:
    """The token ids of a padded batch. Where a model has no encoder or no decoder, S or T is 0."""

    source: Tensor  # what the encoder reads, (B, S)
    read: Tensor  # what the decoder reads, (B, T)
    source_real: Tensor  # False at padding, (B, S)
    read_real: Tensor  # False at padding, (B, T)


def encode_texts(checkpoint: Loaded, texts: Sequence[Text], written: Ids | None = None) -> EncodedTexts:
    """Encode texts for one pass.

    Args:
        checkpoint: A loaded checkpoint of any task.
        texts: The decoder of a translator reads their translations. A language model reads the texts.
        written: The ids of the translations by greedy search, which is left out then; by default it runs here.
    """
    model, tokenizers, limit = checkpoint.model, checkpoint.tokenizers, checkpoint.model.config.max_length
    nothing: Ids = [()] * len(texts)
    if classifies(model):
        encoded = (tokenizers.encode(text, limit).ids for text in texts)
        read = [shortened(ids, limit, tokenizers.specials) for ids in encoded]
        return EncodedTexts(source=read, read=nothing, written=nothing)
    ids = [tokenizers.source_ids(text, limit)[0] for text in texts]
    if not isinstance(model, Writes):
        return EncodedTexts(source=ids, read=nothing, written=nothing)
    if model.task == "continuation":
        return EncodedTexts(source=nothing, read=ids, written=nothing)
    written = greedy_ids(model, ids, specials=tokenizers.specials) if written is None else written
    return EncodedTexts(source=ids, read=[[tokenizers.specials.bos, *one[:-1]] for one in written], written=written)


def pad_ids(model: Reads, source: Ids, read: Ids, *, side: Side | None = None) -> PaddedIds:
    """Pad the ids of a batch.

    Args:
        model: The model that reads them.
        source: For the encoder, see `EncodedTexts`.
        read: For the decoder.
        side: Where a language model gets its padding; by default where its tokenizer pads. Other models get it on the
            right.
    """
    fillers, at_left = (model.pad_id, model.target_pad_id), False
    if isinstance(model, ReadsBatches):
        fillers, at_left = (model.padding.id,) * 2, (side or model.padding.side) == "left"

    def padded(rows: Ids, filler: int) -> tuple[Tensor, Tensor]:
        lengths = torch.tensor([len(row) for row in rows], device=model.device)
        width = max(map(len, rows))
        missing = [[filler] * (width - len(row)) for row in rows]
        filled = [[*few, *row] if at_left else [*row, *few] for row, few in zip(rows, missing, strict=True)]
        places = torch.arange(width, device=model.device)
        real = places >= width - lengths[:, None] if at_left else places < lengths[:, None]
        return padded_for(model, filled), real

    (source_ids, source_real), (read_ids, read_real) = map(padded, (source, read), fillers)
    return PaddedIds(source=source_ids, read=read_ids, source_real=source_real, read_real=read_real)


def batch_logits(model: Reads, ids: PaddedIds, *, first: int = 0) -> Tensor | None:
    """One pass over a padded batch.

    Args:
        model: In evaluation mode.
        ids: From `pad_ids`.
        first: The first position of a translator whose logits are needed; −1 is the last one.

    Returns:
        Logits for each position: (B, T − first, V) of a translator, (B, T, V) of a language model, (B, S, V) of a model
        that predicts masked tokens, (B, 1, C) of a classifier; None of a model that only reads.
    """
    if isinstance(model, ReadsBatches):
        return model.batch_logits(ids.read, ids.read_real)
    if isinstance(model, Writes):
        return model.decode(ids.read, *model.encode(ids.source), first=first)
    if classifies(model):
        return model(ids.source)[:, None]
    assert isinstance(model, PredictsMasked)
    return model.read(ids.source)

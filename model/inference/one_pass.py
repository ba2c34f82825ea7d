"""One pass of a model over a text that it has read or written before, without a search."""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor

from model.inference.padding import padded_for
from model.inference.translation import Recording, Translation
from model.network.protocols import PredictsMasked, Reads, Writes, classifies
from model.trace import Edit, tracing

__all__ = ["pass_over", "record_again"]


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
        return model.decode(ids.expand(rows, -1), memory, None if bool(mask.all()) else mask, first=first)

    return decode


@torch.inference_mode()
def record_again(
    model: Reads, translation: Translation, record: Sequence[str], *, edits: Mapping[str, Edit] | None = None
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
    return Recording(trace=trace, rows=(0,))

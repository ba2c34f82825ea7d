"""One pass of a model over a text that it has read or written before, without a search."""

from collections.abc import Callable, Mapping, Sequence

import torch

from model.inference.padding import padded_for
from model.inference.translation import Recording, Translation
from model.network.protocols import PredictsMasked, Reads, Writes, classifies
from model.trace import Edit, tracing

__all__ = ["pass_over", "record_again"]


def pass_over(model: Reads, source: Sequence[int], read: Sequence[int]) -> Callable[[int], object]:
    """A function that runs a model over a batch of equal rows. The encoder of a model that writes runs at once.

    Args:
        model: In evaluation mode.
        source: The ids that the encoder read; empty in a language model.
        read: The ids that the decoder read; empty in a model that only reads.
    """
    ids = padded_for(model, [read or source])  # (1, T)
    if classifies(model):
        return lambda rows: model(ids.expand(rows, -1))
    if not isinstance(model, Writes):
        assert isinstance(model, PredictsMasked)
        return lambda rows: model.read(ids.expand(rows, -1))
    memory, mask = model.encode(padded_for(model, [source or read]))
    every = bool(mask.all())
    return lambda rows: model.decode(
        ids.expand(rows, -1),
        memory.expand(rows, *memory.shape[1:]),
        None if every else mask.expand(rows, -1, -1, -1),
        first=-1,
    )


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

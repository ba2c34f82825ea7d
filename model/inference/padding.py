"""Ids to a batch that a model can read."""

from collections.abc import Sequence

from torch import Tensor, nn

from model.corpora.batching import pad

__all__ = ["padded_for"]


def padded_for(model: nn.Module, ids: Sequence[Sequence[int]]) -> Tensor:
    """Stack id sequences into (B, S), short ones filled with `PAD_ID`, on the device where the model's weights are."""
    return pad(ids, device=next(model.parameters()).device)

"""Ids to a batch that a model can read."""

from collections.abc import Sequence

from torch import Tensor

from model.corpora.batch import pad
from model.network.classifier import Classifier
from model.network.translator import Translator

__all__ = ["padded_for"]


def padded_for(model: Translator | Classifier, ids: Sequence[Sequence[int]]) -> Tensor:
    """Stack id sequences into (B, S), short ones filled with `model.pad_id`, where the model's weights are."""
    return pad(ids, pad_id=model.pad_id, device=next(model.parameters()).device)

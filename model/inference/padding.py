"""Token ids as a padded batch on the device of a model."""

from collections.abc import Sequence

from torch import Tensor

from model.corpora.batch import pad
from model.network.classifier import Classifier
from model.network.translator import Translator

__all__ = ["padded_for"]


def padded_for(model: Translator | Classifier, ids: Sequence[Sequence[int]]) -> Tensor:
    """Stack B sequences of ids into (B, S) on the model's device; short ones end in `model.pad_id`."""
    return pad(ids, pad_id=model.pad_id, device=next(model.parameters()).device)

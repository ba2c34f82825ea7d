"""Token ids as a padded batch on the device of a model."""

from collections.abc import Sequence

from torch import Tensor

from model.corpora.batch import pad
from model.network.protocols import Reads

__all__ = ["padded_for"]


def padded_for(model: Reads, ids: Sequence[Sequence[int]]) -> Tensor:
    """Stack B sequences of ids into (B, S) on the model's device; short ones end in `model.pad_id`."""
    return pad(ids, pad_id=model.pad_id, device=model.device)

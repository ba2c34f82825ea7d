"""A batch: token ids of a few examples, padded into tensors."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from model.corpora.examples import Example
from model.text.vocab import PAD_ID

__all__ = ["Batch", "Rows", "pad"]

Rows = list[int]  # the numbers of the examples in a batch


def pad(
    sequences: Sequence[Sequence[int]], *, pad_id: int = PAD_ID, device: torch.device | str | None = None
) -> Tensor:
    """Stack sequences of ids into (B, S). Short ones are padded with `pad_id`."""
    ids = np.full((len(sequences), max(map(len, sequences))), pad_id, dtype=np.int64)
    for row, sequence in zip(ids, sequences, strict=True):
        row[: len(sequence)] = sequence
    return torch.from_numpy(ids).to(device)


@dataclass(frozen=True)
class Batch:
    """A few examples as tensors. The task decides what the target contains.

    - Translation: token ids (B, T) from `<s>` to `</s>`.
    - Classification: the share of each class in thousandths (B, C).
    - Predicting hidden words: the ids of the hidden words at their positions, and padding elsewhere (B, S).
    """

    source: Tensor  # token ids (B, S), with `</s>` at the end
    target: Tensor  # (B, T), (B, C) or (B, S)
    target_tokens: int  # tokens to predict in a translation: all except `<s>` and padding

    @classmethod
    def of(cls, examples: Sequence[Example], *, device: torch.device | str = "cpu") -> "Batch":
        sources, targets = zip(*examples, strict=True)
        tokens = sum(map(len, targets)) - len(targets)
        return cls(pad(sources, device=device), pad(targets, device=device), tokens)

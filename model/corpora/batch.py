"""A batch: token ids of a few examples, padded into tensors."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from model.corpora.examples import Example
from model.text.vocab import PAD_ID

__all__ = ["Batch", "Rows", "pad"]

Rows = list[int]  # the examples of a batch, by their numbers


def pad(
    sequences: Sequence[Sequence[int]], *, pad_id: int = PAD_ID, device: torch.device | str | None = None
) -> Tensor:
    """Stack id sequences into (B, S), short ones filled with `pad_id`."""
    ids = np.full((len(sequences), max(map(len, sequences))), pad_id, dtype=np.int64)
    for row, sequence in zip(ids, sequences, strict=True):
        row[: len(sequence)] = sequence
    return torch.from_numpy(ids).to(device)


@dataclass(frozen=True)
class Batch:
    """Token ids of a few examples: source ends with `</s>`, target starts with `<s>` and ends with `</s>`."""

    source: Tensor  # (B, S)
    target: Tensor  # (B, T), or the thousandths of each class (B, C), or hidden words among padding (B, S)
    target_tokens: int  # how many are to be predicted: all but `<s>` and padding

    @classmethod
    def of(cls, examples: Sequence[Example], *, device: torch.device | str = "cpu") -> "Batch":
        sources, targets = zip(*examples, strict=True)
        tokens = sum(map(len, targets)) - len(targets)
        return cls(pad(sources, device=device), pad(targets, device=device), tokens)

"""Batches: token ids of a few examples, padded into tensors, with what the loss of each task needs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import torch
from torch import Tensor

from model.corpora.examples import Example, LabelledText
from model.text.vocab import PAD_ID

__all__ = ["Batch", "ClassificationBatch", "Device", "MaskedBatch", "Rows", "TranslationBatch", "pad"]

Rows = list[int]  # the numbers of the examples in a batch
Device = torch.device | str


def pad(sequences: Sequence[Sequence[int]], *, pad_id: int = PAD_ID, device: Device | None = None) -> Tensor:
    """Stack sequences of ids into (B, S). Short ones are padded with `pad_id`."""
    ids = np.full((len(sequences), max(map(len, sequences))), pad_id, dtype=np.int64)
    for row, sequence in zip(ids, sequences, strict=True):
        row[: len(sequence)] = sequence
    return torch.from_numpy(ids).to(device)


class Batch(Protocol):
    """What the batches of all tasks have."""

    @property
    def source(self) -> Tensor:
        """Token ids (B, S), with `</s>` at the end."""
        ...

    @property
    def items(self) -> int:
        """The number of items over which the loss of the batch is summed."""
        ...


@dataclass(frozen=True, kw_only=True)
class TranslationBatch:
    """Sentences and their translations."""

    source: Tensor  # token ids (B, S), with `</s>` at the end
    target: Tensor  # token ids (B, T), from `<s>` to `</s>`
    items: int  # tokens to predict: all of the target except `<s>` and padding

    @classmethod
    def of(cls, examples: Sequence[Example], *, device: Device = "cpu") -> Self:
        """Make a batch of sentence pairs."""
        sources, targets = zip(*examples, strict=True)
        tokens = sum(map(len, targets)) - len(targets)
        return cls(source=pad(sources, device=device), target=pad(targets, device=device), items=tokens)


@dataclass(frozen=True, kw_only=True)
class ClassificationBatch:
    """Texts with the share of each of two classes: 0 and 1 for a label, or what a teacher model gave."""

    source: Tensor  # token ids (B, S), with `</s>` at the end
    shares: Tensor  # (B, 2); a row sums to 1

    @property
    def items(self) -> int:
        """The number of texts."""
        return len(self.source)

    @classmethod
    def of(cls, examples: Sequence[LabelledText], *, device: Device = "cpu") -> Self:
        """Make a batch of texts with the share of the second class."""
        texts, seconds = zip(*examples, strict=True)
        shares = torch.tensor([[1.0 - second, second] for second in seconds], device=device)
        return cls(source=pad(texts, device=device), shares=shares)


@dataclass(frozen=True, kw_only=True)
class MaskedBatch:
    """Texts in which some words are hidden, and these words."""

    source: Tensor  # token ids (B, S), with the unknown word in place of a hidden one
    hidden: Tensor  # the ids of the hidden words at their positions, and padding elsewhere (B, S)
    items: int  # hidden words, at least 1

    @classmethod
    def of(cls, examples: Sequence[Example], *, device: Device = "cpu") -> Self:
        """Make a batch of pairs: the words to read, and the hidden words at their positions."""
        read, hidden = zip(*examples, strict=True)
        words = sum(word != PAD_ID for row in hidden for word in row)
        return cls(source=pad(read, device=device), hidden=pad(hidden, device=device), items=max(1, words))

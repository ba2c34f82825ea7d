"""Batches: token ids of a few examples, padded into tensors, with what the loss of each task needs.

The order of an epoch is a function of the seed, the number of the epoch and the lengths of the examples. So a run that
is resumed, with any number of processes, needs no saved iterator. Only the index of the examples decides the batches. A
batch of numbers becomes tensors when it is loaded, so each process reads only its own batches.

As in torchtext's `BucketIterator`, a pool of examples is sorted by length, and the batches of a pool are shuffled. A
pool consists of blocks of neighbours: a corpus larger than the memory is read in pieces and not pair by pair.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Self, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.corpora.examples import Example, Examples
from model.corpora.hashing import uniform_bits
from model.text.vocab import PAD_ID

__all__ = ["Batch", "Batches", "ClassificationBatch", "Device", "MaskedBatch", "Rows", "TranslationBatch", "pad"]

Rows = NDArray[np.int64]  # the numbers of the examples in a batch
Device = torch.device | str

BLOCK = 64  # examples, about 7 kB: neighbours in the corpus that are in the same pool
POOL = 100  # batches whose examples are sorted together, as in torchtext
PART = 1 << 20  # examples whose lengths are added up at once
BLOCKS, TIES, BATCHES, CHANCE = range(4)  # what random bits are for


def pad(sequences: Sequence[Sequence[int]], *, pad_id: int = PAD_ID, device: Device | None = None) -> Tensor:
    """Stack sequences of ids into (B, S). Short ones are padded with `pad_id`."""
    ids = np.full((len(sequences), max(map(len, sequences))), pad_id, dtype=np.int64)
    for row, sequence in zip(ids, sequences, strict=True):
        row[: len(sequence)] = sequence
    return torch.from_numpy(ids).to(device)


@dataclass(frozen=True, kw_only=True)
class TranslationBatch:
    """Sentences and their translations."""

    source: Tensor  # token ids (B, S), with `</s>` at the end
    target: Tensor  # token ids (B, T), from `<s>` to `</s>`
    items: int  # over which the loss is summed: tokens of the target except `<s>` and padding

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
    def of(cls, examples: Sequence[Example], *, device: Device = "cpu") -> Self:
        """Make a batch of texts with the share of each class."""
        texts, shares = zip(*examples, strict=True)
        return cls(source=pad(texts, device=device), shares=torch.tensor(shares, device=device))


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


Batch = TranslationBatch | ClassificationBatch | MaskedBatch
AnyBatch = TypeVar("AnyBatch", covariant=True, bound=Batch)


class Batches(Generic[AnyBatch]):
    """Batches of at most `batch_tokens` tokens on either side, padding included."""

    def __init__(
        self,
        examples: Examples,
        make: Callable[..., AnyBatch],
        *,
        batch_tokens: int,
        device: Device = "cpu",
        vary: Callable[[Example, random.Random], Example] | None = None,
    ) -> None:
        """Keep the examples.

        Args:
            examples: At least one. An example that is longer than `batch_tokens` becomes a batch of its own.
            make: Makes a batch of some examples on a `device`, such as `TranslationBatch.of`.
            batch_tokens: The largest number of rows × longest side in a batch.
            device: Where the batches go.
            vary: Changes an example each time it is trained on, for example splits it into other tokens. The lengths
                before this change decide which examples form a batch.
        """
        self.examples = examples
        self._make, self._device, self._vary, self._batch_tokens = make, device, vary, batch_tokens
        parts = (slice(start, start + PART) for start in range(0, len(examples), PART))
        tokens = sum(int(np.maximum(*examples.lengths(part)).sum()) for part in parts)
        self._pool_blocks = max(1, POOL * batch_tokens * len(examples) // (max(tokens, 1) * BLOCK))

    def __len__(self) -> int:
        """The number of examples."""
        return len(self.examples)

    def epoch(self, *, seed: int, number: int) -> Iterator[Rows]:
        """Every example once, in shuffled batches: the same for the same seed, epoch number and examples."""
        blocks = np.arange(-(-len(self) // BLOCK))
        blocks = blocks[np.argsort(uniform_bits(seed, number, BLOCKS, blocks))]
        for start in range(0, len(blocks), self._pool_blocks):
            rows = (blocks[start : start + self._pool_blocks, None] * BLOCK + np.arange(BLOCK)).ravel()
            rows = rows[rows < len(self)]  # the last block may be smaller
            batches = self._cut(rows, uniform_bits(seed, number, TIES, rows))
            order = np.argsort(uniform_bits(seed, number, BATCHES, [batch[0] for batch in batches]))
            yield from (batches[i] for i in order)

    def load(self, rows: Rows, *, seed: int = 0, number: int = 0) -> AnyBatch:
        """Make one batch of `epoch`. Random changes of an example depend only on seed, epoch number and example."""
        chosen = [self.examples[i] for i in rows.tolist()]
        if self._vary:
            draws = (random.Random(f"{seed}/{number}/{i}") for i in rows.tolist())
            chosen = [self._vary(example, draw) for example, draw in zip(chosen, draws, strict=True)]
        return self._make(chosen, device=self._device)

    def chance(self, rows: Rows, *, seed: int, number: int) -> int:
        """The seed of all that is random while a model trains on a batch of `epoch`, such as dropout."""
        return int(uniform_bits(seed, number, CHANCE, rows[0]))

    def sorted(self) -> list[Rows]:
        """Every example once, short ones first."""
        return self._cut(np.arange(len(self)))

    def _cut(self, rows: Rows, ties: NDArray[np.uint64] | None = None) -> list[Rows]:
        """Sort rows by length and cut them into batches. `ties` orders examples of the same lengths."""
        source, target = self.examples.lengths(rows)
        longest = np.maximum(source, target)
        # Sorted only by the longer side, the shorter side would need as much padding as if it were not sorted. Every
        # other length in reverse, so that the shorter side changes little from one length to the next.
        second = np.where(longest % 2, source - target, target - source)
        order = np.lexsort((rows if ties is None else ties, second, longest))
        rows, longest = rows[order], longest[order]
        batches, start = [], 0
        while start < len(rows):
            most = max(1, self._batch_tokens // int(longest[start]))
            sizes = np.arange(1, most + 1)[: len(rows) - start] * longest[start : start + most]  # with padding
            end = start + max(1, int(np.searchsorted(sizes, self._batch_tokens, side="right")))
            batches.append(rows[start:end])
            start = end
        return batches

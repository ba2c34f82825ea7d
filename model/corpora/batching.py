"""Examples to padded batches of similar length, by torchtext's `BucketIterator`.

The iterator deals in the examples' numbers; ids are padded into tensors batch by batch, and a process makes only its
own. The order of an epoch follows from the seed and the epoch's number alone, so a resumed run needs no saved iterator.
"""

import random
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torchtext.data import BucketIterator, Dataset, batch

from model.corpora.batch import Batch, Rows
from model.corpora.examples import Example, Examples

__all__ = ["Batches"]

POOL = 100  # batches that are sorted together, as in torchtext


class Batches:
    """Batches of at most `batch_tokens` tokens on either side, padding included."""

    def __init__(
        self,
        examples: Examples,
        *,
        batch_tokens: int,
        device: torch.device | str = "cpu",
        vary: Callable[[Example, random.Random], Example] | None = None,
    ) -> None:
        """Keep the examples.

        Args:
            examples: At least one. One that is longer than `batch_tokens` becomes a batch of its own.
            batch_tokens: Rows × longest side of a batch.
            device: Where the batches go.
            vary: Changes an example each time it is trained on, such as its cut into tokens. Batches are put together
                by the lengths before that.
        """
        self.examples = examples
        self._batch_tokens = batch_tokens
        self._device = device
        self._vary = vary
        source, target = examples.source.lengths(), examples.target.lengths()
        longest = np.maximum(source, target)
        # Every other length in reverse, so that the shorter side changes little from one length to the next.
        second = np.where(longest % 2, source - target, target - source)
        self._longest = array("i", longest.astype(np.int32).tobytes())
        self._second = array("i", second.astype(np.int32).tobytes())
        self._dataset = Dataset(range(len(examples)), fields=[])

    def __len__(self) -> int:
        """How many examples there are."""
        return len(self.examples)

    def epoch(self, *, seed: int, number: int) -> Iterator[Rows]:
        """Every example once, batches shuffled, the same each time for the same seed, epoch number and examples."""
        iterator = self._iterator(train=True)
        iterator.random_shuffler.random_state = random.Random(f"{seed}/{number}").getstate()
        iterator.init_epoch()
        return iter(iterator.batches)

    def load(self, rows: Rows, *, seed: int = 0, number: int = 0) -> Batch:
        """Make one batch of `epoch`; what is random about an example follows from seed, epoch and example alone."""
        chosen = [self.examples[i] for i in rows]
        if self._vary:
            chosen = [
                self._vary(example, random.Random(f"{seed}/{number}/{i}"))
                for i, example in zip(rows, chosen, strict=True)
            ]
        return Batch.of(chosen, device=self._device)

    def in_order(self) -> Iterator[Batch]:
        """Every example once, short ones first."""
        iterator = self._iterator(train=False)
        iterator.init_epoch()
        return (Batch.of([self.examples[i] for i in rows], device=self._device) for rows in iterator.batches)

    def _iterator(self, *, train: bool) -> BucketIterator:
        return PooledIterator(
            self._dataset,
            tokens=self._longest,
            batch_size=self._batch_tokens,
            batch_size_fn=self._padded_size,
            sort_key=self._lengths,
            sort_within_batch=True,
            train=train,
        )

    def _lengths(self, i: int) -> tuple[int, int]:
        # By the longer side alone, the shorter one would be padded as if it were not sorted at all.
        return self._longest[i], self._second[i]

    def _padded_size(self, newest: int, count: int, _size_before: int) -> int:
        # Batches are filled in the order of `_lengths`, so the newest example is the longest.
        size = count * self._longest[newest]
        return size if count > 1 else min(size, self._batch_tokens)


class PooledIterator(BucketIterator):  # type: ignore[misc]  # torchtext has no types
    """Fills its pools by the tokens of their examples.

    torchtext fills pool and batch by one function. Ours takes the newest example for the longest, which is wrong in a
    pool that is not sorted yet: one long example would end it early.
    """

    def __init__(self, *args: Any, tokens: Sequence[int], **settings: Any) -> None:
        super().__init__(*args, **settings)
        self._tokens = tokens

    def create_batches(self) -> None:
        if self.train:
            self.batches = self._pooled()
        else:
            super().create_batches()

    def _pooled(self) -> Iterator[Rows]:
        for pool in batch(self.data(), POOL * self.batch_size, self._with_newest):
            batches = batch(sorted(pool, key=self.sort_key), self.batch_size, self.batch_size_fn)
            yield from self.random_shuffler(list(batches))

    def _with_newest(self, newest: int, _count: int, tokens_before: int) -> int:
        return tokens_before + self._tokens[newest]

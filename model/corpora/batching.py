"""Examples to padded batches of similar length, by torchtext's `BucketIterator`.

The iterator orders the numbers of the examples. A batch of numbers becomes tensors only when it is loaded, so each of
several processes loads only its own batches. The order of an epoch depends only on the seed and the number of the
epoch, so a resumed run needs no saved iterator.
"""

import random
from array import array
from collections.abc import Callable, Iterator, Sequence
from typing import Generic, Protocol, TypeVar

import numpy as np

from model.corpora.batch import Batch, Device, Rows
from model.corpora.examples import ExampleList
from model.text.torchtext_parts import LengthBuckets

__all__ = ["Batches"]

Item = TypeVar("Item")
Item_contra = TypeVar("Item_contra", contravariant=True)
AnyBatch = TypeVar("AnyBatch", covariant=True, bound=Batch)


class MakeBatch(Protocol[Item_contra, AnyBatch]):
    """From some examples to a batch."""

    def __call__(self, examples: Sequence[Item_contra], *, device: Device) -> AnyBatch: ...


class Batches(Generic[AnyBatch]):
    """Batches of at most `batch_tokens` tokens on either side, padding included."""

    def __init__(
        self,
        examples: ExampleList[Item],
        make: MakeBatch[Item, AnyBatch],
        *,
        batch_tokens: int,
        device: Device = "cpu",
        vary: Callable[[Item, random.Random], Item] | None = None,
    ) -> None:
        """Keep the examples.

        Args:
            examples: At least one. An example that is longer than `batch_tokens` becomes a batch of its own.
            make: Makes a batch of some examples, such as `TranslationBatch.of`.
            batch_tokens: The largest number of rows × longest side in a batch.
            device: Where the batches go.
            vary: Changes an example each time it is trained on, for example splits it into other tokens. The lengths
                before this change decide which examples form a batch.
        """

        def make_of(rows: Rows, draws: Callable[[int], random.Random] | None) -> AnyBatch:
            chosen = [examples[i] for i in rows]
            if vary and draws:
                chosen = [vary(example, draws(i)) for i, example in zip(rows, chosen, strict=True)]
            return make(chosen, device=device)

        self.examples: ExampleList[object] = examples
        self._make_of = make_of
        self._batch_tokens = batch_tokens
        source, target = examples.lengths()
        longest = np.maximum(source, target)
        # Every other length in reverse, so that the shorter side changes little from one length to the next.
        second = np.where(longest % 2, source - target, target - source)
        self._longest = array("i", longest.astype(np.int32).tobytes())
        self._second = array("i", second.astype(np.int32).tobytes())

    def __len__(self) -> int:
        """The number of examples."""
        return len(self.examples)

    def epoch(self, *, seed: int, number: int) -> Iterator[Rows]:
        """Every example once, in shuffled batches: the same for the same seed, epoch number and examples."""
        return iter(self._buckets(random.Random(f"{seed}/{number}")).batches)

    def load(self, rows: Rows, *, seed: int = 0, number: int = 0) -> AnyBatch:
        """Make one batch of `epoch`. Random changes of an example depend only on seed, epoch number and example."""
        return self._make_of(rows, lambda i: random.Random(f"{seed}/{number}/{i}"))

    def in_order(self) -> Iterator[AnyBatch]:
        """Every example once, short ones first."""
        return (self._make_of(rows, None) for rows in self._buckets(None).batches)

    def _buckets(self, shuffle: random.Random | None) -> LengthBuckets:
        return LengthBuckets(
            tokens=self._longest,
            batch_tokens=self._batch_tokens,
            padded_size=self._padded_size,
            sort_key=self._lengths,
            shuffle=shuffle,
        )

    def _lengths(self, i: int) -> tuple[int, int]:
        # Sorted only by the longer side, the shorter side would need as much padding as if it were not sorted.
        return self._longest[i], self._second[i]

    def _padded_size(self, newest: int, count: int, _size_before: int) -> int:
        # Batches are filled in the order of `_lengths`, so the newest example is the longest.
        size = count * self._longest[newest]
        return size if count > 1 else min(size, self._batch_tokens)

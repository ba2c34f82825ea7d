"""All that we take from torchtext 0.6.0: its vocabulary, and its iterator over batches of similar length.

No other file imports torchtext. It is pure Python, works with any torch, and is no longer developed.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from random import Random

from torchtext.data import BucketIterator, Dataset, batch
from torchtext.vocab import Vocab

from model.text.vocab import SPECIAL_TOKENS

__all__ = ["LengthBuckets", "Vocab", "word_vocabulary"]

POOL = 100  # batches whose examples are sorted together, as in torchtext


def word_vocabulary(counts: Counter[str], *, min_freq: int = 1) -> Vocab:
    """Number the words: first the special tokens, then the words from frequent to rare.

    Args:
        counts: How often each word occurs.
        min_freq: Words that occur less often are left out.
    """
    return Vocab(counts, min_freq=min_freq, specials=list(SPECIAL_TOKENS))


class LengthBuckets(BucketIterator):  # type: ignore[misc]  # torchtext has no types
    """A `BucketIterator` over the numbers of examples. It measures a pool by the sum of its tokens.

    torchtext measures pools and batches with the same function. For a batch that function multiplies the number of
    examples by the newest length, which is right only where examples are sorted. A pool is not sorted yet, so one long
    example would end it early.
    """

    def __init__(
        self, *, longest: Sequence[int], second: Sequence[int], batch_tokens: int, shuffle: Random | None
    ) -> None:
        """
        Args:
            longest: The length of the longer side of each example. Examples are sorted by it.
            second: Orders the examples of one length.
            batch_tokens: The largest padded size of a batch. A longer example becomes a batch of its own.
            shuffle: Random numbers for the order of an epoch; without them, short examples come first.
        """
        super().__init__(
            Dataset(range(len(longest)), fields=[]),
            batch_size=batch_tokens,
            batch_size_fn=self._padded_size,
            sort_key=lambda i: (longest[i], second[i]),
            sort_within_batch=True,
            train=shuffle is not None,
        )
        self._longest = longest
        if shuffle is not None:
            self.random_shuffler.random_state = shuffle.getstate()
        self.init_epoch()

    def create_batches(self) -> None:
        """Called by torchtext's `init_epoch`."""
        if self.train:
            self.batches = self._pooled()
        else:
            super().create_batches()

    def _pooled(self) -> Iterator[list[int]]:
        for pool in batch(self.data(), POOL * self.batch_size, self._sum_of_tokens):
            batches = batch(sorted(pool, key=self.sort_key), self.batch_size, self.batch_size_fn)
            yield from self.random_shuffler(list(batches))

    def _sum_of_tokens(self, newest: int, _count: int, tokens_before: int) -> int:
        return tokens_before + self._longest[newest]

    def _padded_size(self, newest: int, count: int, _size_before: int) -> int:
        # Batches are filled in the order of the lengths, so the newest example is the longest.
        size = count * self._longest[newest]
        return size if count > 1 else min(size, self.batch_size)

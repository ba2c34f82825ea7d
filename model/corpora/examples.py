"""Token ids of a whole corpus in flat arrays: a pair with 25 tokens on each side takes 120 bytes, as lists 2,400."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from model.text.encoding import Tokenizer
from model.text.tokenizers import TokenizerPair
from model.text.vocab import BOS_ID, EOS_ID, OURS, Specials

__all__ = ["Example", "Examples", "batched", "labelled_texts", "sentence_pairs", "shortened"]

T = TypeVar("T")
Example = tuple[Sequence[int], Sequence[int]]  # ids of a source, and its target, see `Batch`

CHUNK = 1000  # texts that are encoded at once
THOUSANDTHS = 1000


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Groups of `size` items; the last may be smaller. Python 3.12 has this as `itertools.batched`."""
    iterator = iter(items)
    while group := list(islice(iterator, size)):
        yield group


class IdSequences:
    """Sequences of ids, one after the other in a single array."""

    def __init__(self, *, largest: int) -> None:
        self.ids = array("H" if largest < 2**16 else "I")
        self._ends = array("q", [0])

    def append(self, ids: Sequence[int]) -> None:
        self.ids.extend(ids)
        self._ends.append(len(self.ids))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, i: int) -> list[int]:
        return self.ids[self._ends[i] : self._ends[i + 1]].tolist()

    def lengths(self) -> NDArray[np.int64]:
        """The number of ids in each sequence, (N,)."""
        ends = np.frombuffer(self._ends, dtype=np.int64)
        return ends[1:] - ends[:-1]

    @property
    def nbytes(self) -> int:
        return len(self.ids) * self.ids.itemsize + len(self._ends) * self._ends.itemsize


class Examples:
    """Training examples in the order in which they were added."""

    def __init__(self, examples: Iterable[Example] = (), *, largest: int = 2**31) -> None:
        """Keep the ids of `examples`. No id may be above `largest`."""
        self.source, self.target = IdSequences(largest=largest), IdSequences(largest=largest)
        self.left_out = 0  # examples that were too long to be added
        for example in examples:
            self.append(example)

    def append(self, example: Example) -> None:
        self.source.append(example[0])
        self.target.append(example[1])

    def __len__(self) -> int:
        return len(self.source)

    def __getitem__(self, i: int) -> Example:
        return self.source[i], self.target[i]

    @property
    def nbytes(self) -> int:
        return self.source.nbytes + self.target.nbytes


def sentence_pairs(pairs: Iterable[tuple[str, str]], tokenizers: TokenizerPair, *, max_length: int) -> Examples:
    """Ids of sentence pairs. Pairs with a side longer than `max_length` tokens are left out and counted."""
    examples = Examples(largest=max(tokenizers.source.size, tokenizers.target.size))
    for chunk in batched(pairs, CHUNK):
        sources, targets = zip(*chunk, strict=True)
        for source, target in zip(
            tokenizers.source.encode_batch(sources), tokenizers.target.encode_batch(targets), strict=True
        ):
            if max(len(source) + 1, len(target) + 2) <= max_length:
                examples.append(([*source, EOS_ID], [BOS_ID, *target, EOS_ID]))
            else:
                examples.left_out += 1
    return examples


def labelled_texts(texts: Iterable[tuple[str, float]], tokenizer: Tokenizer, *, max_length: int) -> Examples:
    """Ids of texts, and the share of each of two classes in thousandths. A text comes with the share of the second."""
    examples = Examples(largest=tokenizer.size)
    for chunk in batched(texts, CHUNK):
        for ids, (_, share) in zip(tokenizer.encode_batch([text for text, _ in chunk]), chunk, strict=True):
            second = round(THOUSANDTHS * share)
            examples.append((shortened(ids, max_length), [THOUSANDTHS - second, second]))
    return examples


def shortened(ids: Sequence[int], max_length: int, specials: Specials = OURS) -> list[int]:
    """Ids between special tokens. A long text keeps its beginning and its end, where reviews give their opinion."""
    room = max_length - len(specials.before) - len(specials.after)
    if len(ids) > room:
        ids = [*ids[: room // 2], *ids[len(ids) - (room - room // 2) :]]
    return [*specials.before, *ids, *specials.after]

"""Token ids of a whole corpus in flat arrays: a pair with 25 tokens on each side takes 120 bytes, as lists 2,400."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from model.text.encoding import Tokenizer
from model.text.tokenizers import TokenizerPair
from model.text.vocab import BOS_ID, EOS_ID, OURS, Specials

__all__ = ["Example", "Examples", "batched", "labelled_texts", "sentence_pairs", "shortened"]

T = TypeVar("T")
Example = tuple[Sequence[int], Sequence[Any]]  # ids of a source; ids of its target, or the share of each class

CHUNK = 1000  # texts that are encoded at once


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Groups of `size` items; the last may be smaller. Python 3.12 has this as `itertools.batched`."""
    iterator = iter(items)
    while group := list(islice(iterator, size)):
        yield group


class Sequences:
    """Sequences of numbers, one after the other in a single array."""

    def __init__(self, typecode: str) -> None:
        self.values = array(typecode)
        self._ends = array("q", [0])

    def append(self, values: Sequence[Any]) -> None:
        self.values.extend(values)
        self._ends.append(len(self.values))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, i: int) -> list[Any]:
        return self.values[self._ends[i] : self._ends[i + 1]].tolist()

    def lengths(self) -> NDArray[np.int64]:
        """The length of each sequence, (N,)."""
        ends = np.frombuffer(self._ends, dtype=np.int64)
        return ends[1:] - ends[:-1]

    @property
    def nbytes(self) -> int:
        return sum(len(part) * part.itemsize for part in (self.values, self._ends))


class Examples:
    """Sources and their targets in the order in which they were added."""

    def __init__(self, examples: Iterable[Example] = (), *, largest: int = 2**31, shares: bool = False) -> None:
        """
        Args:
            examples: The first examples.
            largest: No id may be above it.
            shares: Whether a target is the share of each class, and not ids.
        """
        ids = "H" if largest < 2**16 else "I"
        self.source, self.target = Sequences(ids), Sequences("d" if shares else ids)
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

    def lengths(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The number of values on both sides of each example, (N,) and (N,). They decide which examples fit a batch."""
        return self.source.lengths(), self.target.lengths()

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
    """Ids of texts, each with the share of both classes; given is that of the second. Long texts are shortened."""
    encoded = (
        (shortened(ids, max_length), (1.0 - share, share))
        for chunk in batched(texts, CHUNK)
        for ids, (_, share) in zip(tokenizer.encode_batch([text for text, _ in chunk]), chunk, strict=True)
    )
    return Examples(encoded, largest=tokenizer.size, shares=True)


def shortened(ids: Sequence[int], max_length: int, specials: Specials = OURS) -> list[int]:
    """Ids between special tokens. A long text keeps its beginning and its end, where reviews give their opinion."""
    room = max_length - len(specials.before) - len(specials.after)
    if len(ids) > room:
        ids = [*ids[: room // 2], *ids[len(ids) - (room - room // 2) :]]
    return [*specials.before, *ids, *specials.after]

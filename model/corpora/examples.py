"""Token ids of a whole corpus in flat arrays: a pair with 25 tokens on each side takes 120 bytes, as lists 2,400."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from model.text.encoding import Tokenizer
from model.text.tokenizers import TokenizerPair
from model.text.vocab import BOS_ID, EOS_ID, OURS, Specials

__all__ = [
    "Example",
    "ExampleList",
    "Examples",
    "LabelledText",
    "LabelledTexts",
    "batched",
    "labelled_texts",
    "sentence_pairs",
    "shortened",
]

T = TypeVar("T")
Item_co = TypeVar("Item_co", covariant=True)
Example = tuple[Sequence[int], Sequence[int]]  # ids of a source, and of its target
LabelledText = tuple[Sequence[int], float]  # ids of a text, and the share of the second class

CHUNK = 1000  # texts that are encoded at once


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Groups of `size` items; the last may be smaller. Python 3.12 has this as `itertools.batched`."""
    iterator = iter(items)
    while group := list(islice(iterator, size)):
        yield group


class ExampleList(Protocol[Item_co]):
    """Examples of one kind, by their numbers."""

    def __len__(self) -> int: ...

    def __getitem__(self, i: int, /) -> Item_co: ...

    def lengths(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The number of values on both sides of each example, (N,) and (N,). They decide which examples fit a batch."""
        ...


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
    """Pairs of id sequences in the order in which they were added."""

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

    def lengths(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        return self.source.lengths(), self.target.lengths()

    @property
    def nbytes(self) -> int:
        return self.source.nbytes + self.target.nbytes


class LabelledTexts:
    """Texts with the share of the second of two classes, in the order in which they were added."""

    def __init__(self, examples: Iterable[LabelledText] = (), *, largest: int = 2**31) -> None:
        """Keep the ids and shares of `examples`. No id may be above `largest`."""
        self.texts, self.shares = IdSequences(largest=largest), array("d")
        for ids, share in examples:
            self.texts.append(ids)
            self.shares.append(share)

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, i: int) -> LabelledText:
        return self.texts[i], self.shares[i]

    def lengths(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        lengths = self.texts.lengths()
        return lengths, np.full_like(lengths, 2)  # two shares


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


def labelled_texts(texts: Iterable[tuple[str, float]], tokenizer: Tokenizer, *, max_length: int) -> LabelledTexts:
    """Ids of texts, each with the share of the second of two classes. Long texts are shortened."""
    encoded = (
        (shortened(ids, max_length), share)
        for chunk in batched(texts, CHUNK)
        for ids, (_, share) in zip(tokenizer.encode_batch([text for text, _ in chunk]), chunk, strict=True)
    )
    return LabelledTexts(encoded, largest=tokenizer.size)


def shortened(ids: Sequence[int], max_length: int, specials: Specials = OURS) -> list[int]:
    """Ids between special tokens. A long text keeps its beginning and its end, where reviews give their opinion."""
    room = max_length - len(specials.before) - len(specials.after)
    if len(ids) > room:
        ids = [*ids[: room // 2], *ids[len(ids) - (room - room // 2) :]]
    return [*specials.before, *ids, *specials.after]

"""Token ids of a whole corpus: the numbers of all examples one after the other, and an index of their places.

Both are arrays in memory, or files that the system maps into memory (`model/training/tokenized.py`). A pair with 25
tokens on each side takes 120 bytes, as lists 2,400.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from typing import Any, BinaryIO, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from model.text.encoding import LearnedTokenizer
from model.text.tokenizers import LearnedPair
from model.text.vocab import BOS_ID, EOS_ID, OURS, Specials

__all__ = [
    "INDEX",
    "LONG",
    "SHARE",
    "Example",
    "Examples",
    "batched",
    "id_type",
    "labelled_texts",
    "sentence_pairs",
    "shortened",
    "write_examples",
]

T = TypeVar("T")
Example = tuple[Sequence[int], Sequence[Any]]  # ids of a source; ids of its target, or the share of each class
Types = tuple[str, str]  # NumPy's name for the numbers of a source, and for those of a target

CHUNK = 1000  # texts that are encoded at once
# Where an example begins, in bytes, and how many numbers its source and its target have.
INDEX = np.dtype([("start", "<u8"), ("source", "<u4"), ("target", "<u4")])
LONG, SHARE = "<u4", "<f8"


def id_type(largest: int) -> str:
    """The type of ids up to `largest`."""
    return "<u2" if largest < 2**16 else LONG


def batched(items: Iterable[T], size: int) -> Iterator[list[T]]:
    """Groups of `size` items; the last may be smaller. Python 3.12 has this as `itertools.batched`."""
    iterator = iter(items)
    while group := list(islice(iterator, size)):
        yield group


def write_examples(examples: Iterable[Example | None], types: Types, *, index: BinaryIO, values: BinaryIO) -> int:
    """Write examples one after the other.

    Args:
        examples: None stands for an example that is left out.
        types: Of the numbers.
        index: Gets an entry of `INDEX` for each example.
        values: Gets the numbers of its source, then those of its target.

    Returns:
        How many are left out.

    Raises:
        OverflowError: an id is too large for its type.
    """
    start = left_out = 0
    for group in batched(examples, CHUNK):
        kept = [example for example in group if example is not None]
        left_out += len(group) - len(kept)
        entries = np.zeros(len(kept), INDEX)
        sides = [np.array(side, kind) for example in kept for side, kind in zip(example, types, strict=True)]
        entries["source"], entries["target"] = (list(map(len, part)) for part in (sides[::2], sides[1::2]))
        sizes = np.array([side.nbytes for side in sides], np.uint64).reshape(-1, 2).sum(axis=1)
        entries["start"] = start + np.cumsum(sizes) - sizes
        values.writelines(side.data for side in sides)
        index.write(entries.tobytes())
        start += int(sizes.sum())
    return left_out


@dataclass(frozen=True, kw_only=True, eq=False)
class Examples:
    """Sources and their targets in the order in which they were written."""

    index: NDArray[Any]  # (N,) of `INDEX`
    values: NDArray[np.uint8]  # the bytes of all numbers
    types: Types
    left_out: int  # examples that were too long

    @classmethod
    def of(cls, examples: Iterable[Example | None], types: Types = (LONG, LONG)) -> Self:
        """Keep examples in memory; see `write_examples`."""
        index, values = BytesIO(), BytesIO()
        left_out = write_examples(examples, types, index=index, values=values)
        arrays = np.frombuffer(index.getbuffer(), INDEX), np.frombuffer(values.getbuffer(), np.uint8)
        return cls(index=arrays[0], values=arrays[1], types=types, left_out=left_out)

    def __len__(self) -> int:
        return len(self.index)

    def __getitem__(self, i: int) -> Example:
        place, *lengths = self.index[i].tolist()
        sides: list[list[Any]] = []
        for length, kind in zip(lengths, map(np.dtype, self.types), strict=True):
            end = place + length * kind.itemsize
            sides.append(self.values[place:end].view(kind).tolist())
            place = end
        return sides[0], sides[1]

    def lengths(self, rows: slice | NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The number of values on both sides of some examples, (N,) and (N,). They decide which fit into a batch."""
        entries = self.index[rows]
        return entries["source"].astype(np.int64), entries["target"].astype(np.int64)


def sentence_pairs(
    pairs: Iterable[tuple[str, str]], tokenizers: LearnedPair, *, max_length: int
) -> Iterator[Example | None]:
    """Ids of sentence pairs; None for a pair with a side longer than `max_length` tokens."""
    for chunk in batched(pairs, CHUNK):
        sources, targets = zip(*chunk, strict=True)
        for source, target in zip(
            tokenizers.source.encode_batch(sources), tokenizers.target.encode_batch(targets), strict=True
        ):
            fits = max(len(source) + 1, len(target) + 2) <= max_length
            yield ([*source, EOS_ID], [BOS_ID, *target, EOS_ID]) if fits else None


def labelled_texts(
    texts: Iterable[tuple[str, float]], tokenizer: LearnedTokenizer, *, max_length: int
) -> Iterator[Example]:
    """Ids of texts, each with the share of both classes; given is that of the second. Long texts are shortened."""
    for chunk in batched(texts, CHUNK):
        for ids, (_, share) in zip(tokenizer.encode_batch([text for text, _ in chunk]), chunk, strict=True):
            yield shortened(ids, max_length), (1.0 - share, share)


def shortened(ids: Sequence[int], max_length: int, specials: Specials = OURS) -> list[int]:
    """Ids between special tokens. A long text keeps its beginning and its end, where reviews give their opinion."""
    room = max_length - len(specials.before) - len(specials.after)
    if len(ids) > room:
        ids = [*ids[: room // 2], *ids[len(ids) - (room - room // 2) :]]
    return [*specials.before, *ids, *specials.after]

"""What every tokenizer offers: one protocol for subwords and whole words."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

__all__ = ["Encoding", "LearnedTokenizer", "Tokenizer"]


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """A tokenized text, without special tokens; all tuples have one entry a token."""

    ids: tuple[int, ...]
    tokens: tuple[str, ...]  # as shown to a person
    offsets: tuple[tuple[int, int], ...]  # start and end character in the text
    words: tuple[int, ...]  # which word the token is a part of, counted from 0


class Tokenizer(Protocol):
    """One language of a checkpoint."""

    @property
    def size(self) -> int:
        """How many ids there are, special tokens included."""
        ...

    def encode(self, text: str) -> Encoding: ...

    def encode_batch(self, texts: Sequence[str]) -> list[Sequence[int]]:
        """The ids of many texts, faster than one by one."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text that a person reads; special tokens are left out."""
        ...

    def tokens(self, ids: Sequence[int]) -> tuple[str, ...]:
        """Each id as shown to a person."""
        ...

    def words(self, ids: Sequence[int]) -> tuple[int, ...]:
        """For each id, which word it is a part of, counted from 0."""
        ...


class LearnedTokenizer(Tokenizer, Protocol):
    """One that we learned from texts, and can write into a checkpoint."""

    def cut_anew(self, ids: Sequence[int], *, dropout: float, draws: random.Random) -> Sequence[int]:
        """The same text cut into other tokens at random, where its kind can."""
        ...

    def to_json(self) -> str: ...

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Raises ValueError, KeyError or TypeError where the text is not what `to_json` wrote."""
        ...

"""The protocol of all tokenizers, for subwords and whole words."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, Self

__all__ = ["Encoding", "LearnedTokenizer", "Tokenizer"]


@dataclass(frozen=True, kw_only=True)
class Encoding:
    """A tokenized text without special tokens. All tuples of the tokens have one entry per token."""

    ids: tuple[int, ...]
    tokens: tuple[str, ...]  # as shown on the screen
    offsets: tuple[tuple[int, int], ...]  # start and end character in the text, in our own tokenizers the cleaned text
    words: tuple[int, ...]  # the word that the token belongs to, counted from 0
    second_start: int = 0  # the first token of the second text of a pair; 0 for a single text
    dropped: int = 0  # tokens of a pair that are left out
    left_out: tuple[str, ...] = ()  # different parts of the text that have no token


class Tokenizer(Protocol):
    """The tokenizer of one language of a checkpoint."""

    @property
    def size(self) -> int:
        """The number of ids, special tokens included."""
        ...

    def encode(self, text: str) -> Encoding: ...

    def encode_batch(self, texts: Sequence[str]) -> list[Sequence[int]]:
        """The ids of many texts, faster than one by one."""
        ...

    def decode(self, ids: Sequence[int]) -> str:
        """The text of the ids, without special tokens."""
        ...

    def tokens(self, ids: Sequence[int]) -> tuple[str, ...]:
        """The text of each id as shown on the screen."""
        ...

    def words(self, ids: Sequence[int]) -> tuple[int, ...]:
        """For each id the word that it belongs to, counted from 0."""
        ...


class LearnedTokenizer(Tokenizer, Protocol):
    """A tokenizer that Headlight learned from texts and can save in a checkpoint."""

    def resegment(self, ids: Sequence[int], *, dropout: float, draws: random.Random) -> Sequence[int]:
        """Split the same text into other tokens at random, if this kind of tokenizer can."""
        ...

    def to_json(self) -> str: ...

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Raises ValueError, KeyError or TypeError if `to_json` did not write the text."""
        ...

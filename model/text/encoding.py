"""What all tokenizers have, for subwords and whole words; and the failures of the library `tokenizers`."""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Protocol, Self

__all__ = ["Encoding", "LearnedTokenizer", "TokenTable", "Tokenizer", "TokenizerPanicError", "panics_as_errors"]


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

    def unread_share(self, text: str, *, unknown: int | None) -> float:
        """The share of the characters in no token of the vocabulary: they are cut into bytes, or in an unknown word."""
        unread, tokens_of = set[int](), Counter(self.offsets)
        for token, (start, end) in zip(self.ids, self.offsets, strict=True):
            if token == unknown or (end - start == 1 and tokens_of[start, end] > 1):
                unread.update(range(start, end))
        return len(unread) / max(sum(not character.isspace() for character in text), 1)


class Tokenizer(Protocol):
    """The tokenizer of one language of a checkpoint."""

    @property
    def size(self) -> int:
        """The number of ids, special tokens included."""
        ...

    def encode(self, text: str) -> Encoding: ...

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

    def encode_batch(self, texts: Sequence[str]) -> list[Sequence[int]]:
        """The ids of many texts, faster than one by one."""
        ...

    def resegment(self, ids: Sequence[int], *, dropout: float, draws: random.Random) -> Sequence[int]:
        """Split the same text into other tokens at random, if this kind of tokenizer can."""
        ...

    def to_json(self) -> str: ...

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Raises ValueError, KeyError or TypeError if `to_json` did not write the text."""
        ...


class TokenTable(Tokenizer):
    """The parts of a tokenizer that follow from its vocabulary and its method `encode`."""

    def __init__(self, vocabulary: Mapping[str, int], marks: frozenset[int]) -> None:
        """
        Args:
            vocabulary: Token → id.
            marks: Ids of special tokens, which have no text.
        """
        self.vocabulary, self._marks = vocabulary, marks
        self._tokens = {i: token for token, i in vocabulary.items()}

    @property
    def size(self) -> int:
        return max(self._tokens) + 1

    def tokens(self, ids: Sequence[int]) -> tuple[str, ...]:
        return tuple(self._tokens.get(i, f"⟨{i}⟩") for i in ids)


class TokenizerPanicError(Exception):
    """The library failed unexpectedly: its Rust code panicked, which is not an `Exception`."""


@contextmanager
def panics_as_errors() -> Iterator[None]:
    """Raise `TokenizerPanicError` instead of a panic. Other exceptions pass through."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # the library does not export it
            raise
        raise TokenizerPanicError(str(error)) from None

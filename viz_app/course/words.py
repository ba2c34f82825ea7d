"""The words of a text, and of the tokens of a run."""

import re
from collections.abc import Sequence

from model.inference.tokens import Token
from model.text.byte_pair import CONTINUES

__all__ = ["count_words", "word_at", "word_list", "words_of"]


def words_of(text: str) -> frozenset[str]:
    """The different words of a text, in small letters."""
    return frozenset(word_list(text))


def word_list(text: str) -> list[str]:
    """The words of a text in their order, in small letters."""
    return re.findall(r"\w+", text.lower())


def count_words(text: str) -> int:
    return len(word_list(text))


def word_at(tokens: Sequence[Token], index: int) -> str:
    """The word to which a token belongs. A special token is a word of its own."""
    token = tokens[index]
    parts = [other.text.removeprefix(CONTINUES) for other in tokens if other.word == token.word and token.word >= 0]
    return "".join(parts).lstrip("␣") or token.text

"""The class of each token. The classes are the same for all languages and tokenizers."""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from model.text.tokenizers import CONTINUES

__all__ = ["CLASSES", "CONTENT", "PUNCTUATION", "SPECIAL", "classes_of"]

CLASSES = (
    "special",  # `</s>` and others that belong to no word
    "punctuation",  # only signs, or a space
    "number",  # digits, with signs between them
    "first",  # the first token of another word
    "later",  # a later token of it
)
SPECIAL, PUNCTUATION, NUMBER, FIRST, LATER = range(len(CLASSES))
CONTENT = (NUMBER, FIRST, LATER)


def classes_of(tokens: Sequence[str], words: Sequence[int]) -> tuple[int, ...]:
    """The class of each token, as an index into `CLASSES`.

    Args:
        tokens: As shown on the screen.
        words: The word of each token; negative for special tokens.
    """
    before = (-1, *words)
    return tuple(
        SPECIAL if word < 0 else kind if (kind := class_of_text(token)) is not None else LATER if same else FIRST
        for token, word, same in zip(tokens, words, (a == b for a, b in zip(words, before, strict=False)), strict=True)
    )


@lru_cache(maxsize=1 << 16)
def class_of_text(token: str) -> int | None:
    """The class that follows from the text of a token alone: `PUNCTUATION` or `NUMBER`; None for others."""
    text = token.removeprefix(CONTINUES).strip()
    if len(text) > 2 and text[0] == "⟨":  # bytes, or an id without a text
        return None
    kinds = {unicodedata.category(character)[0] for character in text}
    if kinds <= {"P", "S", "Z"}:
        return PUNCTUATION
    return NUMBER if "N" in kinds and kinds <= {"N", "P", "S"} else None

"""The class of each token. The classes are the same for all languages and tokenizers."""

import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from itertools import groupby

from model.text.shown_bytes import is_bytes, whole_characters
from model.text.tokenizers import CONTINUES

__all__ = ["CLASSES", "CONTENT", "PUNCTUATION", "SPECIAL", "classes_of"]

CLASSES = (
    "special",  # `</s>` and others that belong to no word
    "punctuation",  # only signs, or a space
    "number",  # digits, with signs between them
    "first",  # the first token of another word that is more than signs
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
    found, begun = list[int](), -1  # the last word with a token of content
    for token, word in zip(whole_tokens(tokens, words), words, strict=True):
        kind = SPECIAL if word < 0 else class_of_text(token)
        found.append(kind if kind is not None else LATER if word == begun else FIRST)
        begun = word if found[-1] in CONTENT else begun
    return tuple(found)


def whole_tokens(tokens: Sequence[str], words: Sequence[int]) -> list[str]:
    """The tokens; those that are bytes of a character of one word become this character, each of them."""
    found, i = list(tokens), 0
    for _, run in groupby(zip(tokens, words, strict=True), key=lambda pair: (is_bytes(pair[0]), pair[1])):
        pairs = list(run)
        if is_bytes(pairs[0][0]):
            found[i : i + len(pairs)] = [whole_characters("".join(shown for shown, _ in pairs))] * len(pairs)
        i += len(pairs)
    return found


@lru_cache(maxsize=1 << 16)
def class_of_text(token: str) -> int | None:
    """The class that follows from the text of a token alone: `PUNCTUATION` or `NUMBER`; None for others."""
    text = token.removeprefix(CONTINUES).strip()
    if len(text) > 2 and text[0] == "⟨":  # bytes of no character, or an id without a text
        return None
    kinds = {unicodedata.category(character)[0] for character in text}
    if kinds <= {"P", "S", "Z"}:
        return PUNCTUATION
    return NUMBER if "N" in kinds and kinds <= {"N", "P", "S"} else None

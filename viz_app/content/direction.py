"""The direction of a text: Arabic and Hebrew are read from right to left."""

import unicodedata
from collections.abc import Iterable

__all__ = ["dir_attribute", "is_right_to_left", "isolated"]

RIGHT_TO_LEFT = ("R", "AL")  # Unicode's directions of Hebrew and of Arabic


def is_right_to_left(text: str) -> bool:
    """Whether most letters of a text are of a script from right to left."""
    directions = [one for one in map(unicodedata.bidirectional, text) if one in ("L", *RIGHT_TO_LEFT)]
    return 2 * sum(one in RIGHT_TO_LEFT for one in directions) > len(directions)


def isolated(text: str) -> str:
    """A text in its own direction, whatever is around it. Only Arabic, Hebrew and similar texts need it."""
    return f"\u2068{text}\u2069" if any(unicodedata.bidirectional(one) in RIGHT_TO_LEFT for one in text) else text


def dir_attribute(words: Iterable[str]) -> str:
    """The HTML attribute for the direction of words that are elements of their own. `dir="auto"` does not see them."""
    return ' dir="rtl"' if is_right_to_left(" ".join(words)) else ""

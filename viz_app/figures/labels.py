"""Tokens as labels of a figure: escaped, distinct, and with a known width."""

import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache
from html import unescape
from itertools import accumulate

from viz_app.content.plain import isolated, visible

__all__ = ["LETTERS", "LINE", "broken", "escaped_label", "text_width", "unique_labels", "visible_label"]

LETTERS = 14  # pixels, the height of the letters
LINE = 15  # pixels, the height of a line of them
NARROW, WIDE = 7.9, 14.5  # pixels, the width of a Latin letter and of a Chinese or Korean one
MAX_LABEL = 18  # letters; a wide one counts as two


def visible_label(token: str, *, limit: int = MAX_LABEL) -> str:
    """A token with signs for line breaks and tabs, cut to `limit` letters. A Chinese or Korean letter counts as two."""
    if len(token) <= limit and token.isascii() and token.isalnum():
        return token  # most labels, which nothing below would change
    text = visible(token)
    ends = list(accumulate(map(letters, text)))  # the letters up to each character
    return isolated(f"{text[: bisect_right(ends, limit - 1)]}…" if ends and ends[-1] > limit else text)


def broken(title: str, width: float) -> str:
    """A title in two lines for Plotly if it is wider than `width` pixels. Chinese without spaces breaks anywhere."""
    if text_width([title]) <= width:
        return title
    middle = len(title) // 2
    space = title.find(" ", middle)
    return f"{title[:space]}<br>{title[space + 1 :]}" if space > 0 else f"{title[:middle]}<br>{title[middle:]}"


def escaped_label(token: str, *, limit: int = MAX_LABEL) -> str:
    """`visible_label` with its markup escaped, because Plotly reads some HTML."""
    return visible_label(token, limit=limit).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def unique_labels(tokens: Sequence[str]) -> list[str]:
    """Labels for a category axis. Plotly merges equal ones, so repeats differ by invisible characters."""
    repeats: dict[str, int] = {}
    labels: dict[str, None] = {}  # an ordered set
    for token in tokens:
        label = escaped_label(token) or " "
        number = repeats.get(label, 0)
        # A token may contain invisible characters itself.
        while (unique := label + invisible(number)) in labels:
            number += 1
        repeats[label] = number + 1
        labels[unique] = None
    return list(labels)


def invisible(number: int) -> str:
    """A number above 0 in binary, in two characters without width; 0 is an empty text."""
    return f"{number:b}".translate({ord("0"): "\u200b", ord("1"): "\u2060"}) if number else ""


def text_width(labels: Sequence[str]) -> float:
    """The estimated width of the longest escaped label, in pixels."""
    widths = (0.0, NARROW, WIDE)
    return max((sum(widths[letters(one)] for one in unescape(label)) for label in labels), default=0.0)


@lru_cache(maxsize=4096)
def letters(character: str) -> int:
    """As how many Latin letters a character counts: 0 without a width, 2 in Chinese and Korean."""
    if unicodedata.category(character) in ("Cf", "Mn"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in ("W", "F") else 1

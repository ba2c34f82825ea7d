"""What a model reads at once: a text, or a pair of texts with a separator between them."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain
from typing import NamedTuple

from model.text.encoding import Encoding

__all__ = ["Text", "TextPair", "after", "find_separator", "joined", "paired", "split", "texts_of"]

PER_TOKEN = ("ids", "tokens", "offsets", "words")  # of an `Encoding`


class TextPair(NamedTuple):
    """Two texts that a model reads together, such as a premise and a hypothesis."""

    text: str
    second: str


Text = str | TextPair


def paired(text: Text, second: str) -> Text:
    """A pair of texts; an empty second text is none."""
    return TextPair(texts_of(text)[0], second) if second.strip() else text


def texts_of(text: Text) -> tuple[str, str]:
    """The text, and the second text; "" without one."""
    return (text.text, text.second) if isinstance(text, TextPair) else (text, "")


def find_separator(ids: Sequence[int], separator: Sequence[int]) -> int:
    """The place of the first separator with something behind it; -1 without one."""
    places = range(len(ids) - len(separator)) if separator else ()
    return next((i for i in places if list(ids[i : i + len(separator)]) == list(separator)), -1)


def part_of(encoding: Encoding, start: int, stop: int | None) -> Encoding:
    """Some tokens of an encoding."""
    return replace(encoding, **{name: getattr(encoding, name)[start:stop] for name in PER_TOKEN})


def after(first: Encoding, second: Encoding, characters: int) -> Encoding:
    """An encoding that continues to count the words and the characters of another one."""
    words = max(first.words, default=-1) + 1
    return replace(
        second,
        offsets=tuple((start + characters, end + characters) for start, end in second.offsets),
        words=tuple(word + words for word in second.words),
    )


def split(encoding: Encoding, separator: Sequence[int]) -> tuple[Encoding, Encoding]:
    """The tokens before the first separator, and those behind it; all tokens and none without a separator."""
    at = find_separator(encoding.ids, separator)
    if at < 0:
        return encoding, part_of(encoding, 0, 0)
    return part_of(encoding, 0, at), part_of(encoding, at + len(separator), None)


def joined(first: Encoding, separator: Encoding, second: Encoding, *, most: int) -> Encoding:
    """Two texts as one, with at most this many tokens. As in the library, the longer text is shortened first."""
    lengths, room = (len(first.ids), len(second.ids)), max(most - len(separator.ids), 0)
    fewer = min(*lengths, room // 2)
    more = min(max(lengths), room - fewer)
    kept = (fewer, more) if lengths[0] <= lengths[1] else (more, fewer)
    parts = part_of(first, 0, kept[0]), separator, part_of(second, 0, kept[1])
    return Encoding(
        **{name: tuple(chain.from_iterable(getattr(part, name) for part in parts)) for name in PER_TOKEN},
        second_start=kept[0] + len(separator.ids),
        dropped=sum(lengths) - sum(kept),
    )

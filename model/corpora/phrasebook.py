"""Our own phrasebooks: sentences that people type first and that corpora rarely have, with slots for names and numbers.

The words are in `.toml` files beside this one. All pairs are (English, other language).
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from model.corpora.overlap import Pair

__all__ = ["CHINESE", "EMOJI", "GERMAN", "LANGUAGES", "SUMS", "Phrasebook", "numeral"]

REPLACED = ("man", "woman", "surname", "city")  # rows of names that are searched for in a text


@dataclass(frozen=True, kw_only=True)
class Phrasebook:
    """Sentences with slots in English and another language, and what can replace names and numbers in both."""

    names: Mapping[str, Sequence[Pair]]  # a name is replaced by another name of its row, so that "his" stays right
    number_words: tuple[Sequence[str], Sequence[str]]  # the same numbers at the same positions
    phrases: Sequence[Pair]  # with slots: rows, {hour}, {minute}, {phone}, {year}, {small}
    rows: Mapping[str, Sequence[Pair]]  # other words for the slots
    spaced: bool = True  # whether the other language has spaces between words
    stop: str = "."  # its full stop
    adds_s: bool = False  # whether its genitive is the name with an s: Toms

    @cached_property
    def row_of(self) -> Mapping[str, str]:
        """English name → its row, for names that are replaced."""
        return {name: row for row in REPLACED for name, _ in self.names[row]}

    @cached_property
    def english_of(self) -> Mapping[str, str]:
        return {other: name for row in REPLACED for name, other in self.names[row]}

    @cached_property
    def patterns(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        """Patterns that find the names in English and in the other language."""
        longest_first = sorted(self.english_of, key=len, reverse=True)
        edge = r"\b" if self.spaced else ""
        return (
            re.compile(rf"\b({'|'.join(map(re.escape, self.row_of))})\b"),
            re.compile(rf"{edge}({'|'.join(map(re.escape, longest_first))}){edge}"),
        )

    @cached_property
    def genitive(self) -> re.Pattern[str] | None:
        """Finds a name in the genitive of the other language, where that has an s without an apostrophe."""
        return re.compile(rf"\b({'|'.join(self.row_of)})s\b") if self.adds_s else None


def tables(name: str) -> Mapping[str, Any]:
    """The contents of a file beside this one."""
    return tomllib.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))


def pairs(text: str) -> tuple[Pair, ...]:
    """Read pairs `English = other language`, separated by semicolons or line breaks."""
    found = (part.partition(" = ") for part in re.split(r"[;\n]", text) if part.strip())
    return tuple((english.strip(), other.strip()) for english, _, other in found)


def named(text: str) -> tuple[Pair, ...]:
    """Read pairs `English 中文` one after the other; `_` stands for a space."""
    items = text.split()
    return tuple((en.replace("_", " "), zh) for en, zh in zip(items[::2], items[1::2], strict=True))


SAME, SCRIPTS = tables("substitutions_german.toml"), tables("substitutions_chinese.toml")
BOOKS = {"de": tables("phrasebook_german.toml"), "zh": tables("phrasebook_chinese.toml")}
EMOJI = SAME["sentences"]["emoji"].split()
ONES, TENS = (SCRIPTS["numbers"][name].split() for name in ("ones", "tens"))
DIGITS = "零一二三四五六七八九"


def numeral(number: int) -> Pair:
    """A number from 1 to 99 in words: twenty-one, 二十一."""
    tens, ones = divmod(number, 10)
    english = ONES[number - 1] if number < 20 else "-".join(filter(None, (TENS[tens - 2], ONES[ones - 1] * bool(ones))))
    chinese = (DIGITS[tens] if tens > 1 else "") + "十" * bool(tens) + (DIGITS[ones] if ones else "")
    return english, chinese


def calculation(left: int, right: int, result: int, words: Pair) -> Pair:
    (a, b, c), (english, chinese) = map(numeral, (left, right, result)), words
    return f"{a[0].capitalize()} {english} {b[0]} is {c[0]}", f"{a[1]}{chinese}{b[1]}等于{c[1]}"


SMALL = range(1, 13)
SUMS: Sequence[Pair] = (
    *(calculation(a, b, a + b, ("plus", "加")) for a in SMALL for b in SMALL),
    *(calculation(a + b, b, a, ("minus", "减")) for a in SMALL for b in SMALL),
    *(calculation(a, b, a * b, ("times", "乘以")) for a in SMALL for b in SMALL if a * b < 100),
)
ROWS = {code: {slot: pairs(text) for slot, text in book["rows"].items()} for code, book in BOOKS.items()}
PHRASES = {
    code: (*pairs(sentences["sentences"]["all"]), *pairs(BOOKS[code]["phrases"]["all"]))
    for code, sentences in (("de", SAME), ("zh", SCRIPTS))
}
GERMAN = Phrasebook(
    names={row: tuple((name, name) for name in text.split()) for row, text in SAME["names"].items()},
    number_words=(SAME["number_words"]["en"].split(), SAME["number_words"]["de"].split()),
    phrases=PHRASES["de"],
    rows=ROWS["de"],
    adds_s=True,
)
CHINESE = Phrasebook(
    names={row: named(text) for row, text in SCRIPTS["names"].items()},
    number_words=((), ()),
    phrases=PHRASES["zh"],
    rows={**ROWS["zh"], "age": tuple(map(numeral, range(2, 100))), "sum": SUMS},  # too many to list in a file
    spaced=False,
    stop="。",
)
LANGUAGES = {"de": GERMAN, "zh": CHINESE}

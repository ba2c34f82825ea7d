"""Substitutions for English and (simplified) Chinese: names in both scripts, things, and sentences with slots."""

from collections.abc import Sequence

from model.corpora import phrasebook
from model.corpora.overlap import Pair
from model.corpora.phrasebook import read_tables
from model.corpora.substitutions import Substitutions, words

__all__ = ["CHINESE", "SUMS", "numeral"]

TABLES = read_tables("substitutions_chinese.toml")
ONES, TENS = words(TABLES["numbers"]["ones"]), words(TABLES["numbers"]["tens"])
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
ROWS = {"age": tuple(map(numeral, range(2, 100))), "sum": SUMS}  # too many to list in a phrasebook


def pairs(text: str) -> tuple[Pair, ...]:
    """Read pairs `English 中文` one after the other; `_` stands for a space."""
    items = words(text)
    return tuple((en.replace("_", " "), zh) for en, zh in zip(items[::2], items[1::2], strict=True))


CHINESE = Substitutions(
    language="zh",
    names={row: pairs(text) for row, text in TABLES["names"].items()},
    number_words=((), ()),
    templates=(*phrasebook.pairs(TABLES["sentences"]["all"]), *phrasebook.CHINESE.phrases),
    rows={**phrasebook.CHINESE.rows, **ROWS},
    spaced=False,
)

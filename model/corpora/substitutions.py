"""Names, numbers and symbols that can replace each other on both sides of an English and German sentence pair."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from model.corpora import phrasebook
from model.corpora.overlap import Pair
from model.corpora.phrasebook import read_tables

__all__ = ["EMOJI", "GERMAN", "NAMES", "NUMBER_WORDS", "TEMPLATES", "Substitutions", "words"]


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


@dataclass(frozen=True, kw_only=True)
class Substitutions:
    """Replacements for English and another language. All pairs are (English, other language)."""

    language: str
    names: Mapping[str, Sequence[Pair]]  # a name is replaced by another name of its row, so that "his" stays right
    number_words: tuple[Sequence[str], Sequence[str]]  # the same numbers at the same positions
    templates: Sequence[Pair]  # sentences with slots: rows, {hour}, {minute}, {phone}, {year}, {small}
    rows: Mapping[str, Sequence[Pair]]  # other words for the slots
    spaced: bool = True  # whether the other language has spaces between words

    @cached_property
    def row_of(self) -> Mapping[str, str]:
        """English name → its row, for names that are replaced."""
        return {name: row for row, names in self.names.items() if row in REPLACED for name, _ in names}

    @cached_property
    def english_of(self) -> Mapping[str, str]:
        return {other: name for row, names in self.names.items() if row in REPLACED for name, other in names}

    @cached_property
    def patterns(self) -> tuple[re.Pattern[str], re.Pattern[str]]:
        """Patterns that find the names in English and in the other language."""
        longest_first = sorted(self.english_of, key=len, reverse=True)
        edge = r"\b" if self.spaced else ""
        return (
            re.compile(rf"\b({'|'.join(map(re.escape, self.row_of))})\b"),
            re.compile(rf"{edge}({'|'.join(map(re.escape, longest_first))}){edge}"),
        )


REPLACED = ("man", "woman", "surname", "city")  # rows of names that are searched for in a text

TABLES = read_tables("substitutions_german.toml")
NAMES: Mapping[str, Sequence[str]] = {row: words(text) for row, text in TABLES["names"].items()}
NUMBER_WORDS: Mapping[str, Sequence[str]] = {name: words(text) for name, text in TABLES["number_words"].items()}
EMOJI = words(TABLES["sentences"]["emoji"])
TEMPLATES = phrasebook.pairs(TABLES["sentences"]["all"])

GERMAN = Substitutions(
    language="de",
    names={row: tuple((name, name) for name in names) for row, names in NAMES.items()},
    number_words=(NUMBER_WORDS["en"], NUMBER_WORDS["de"]),
    templates=(*TEMPLATES, *phrasebook.GERMAN.phrases),
    rows=phrasebook.GERMAN.rows,
)

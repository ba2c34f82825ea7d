"""Our own phrasebooks: sentences that people type first and that corpora rarely have. They are in `.toml` files."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from model.corpora.overlap import Pair

__all__ = ["CHINESE", "GERMAN", "Phrasebook", "pairs", "read_tables"]


@dataclass(frozen=True, kw_only=True)
class Phrasebook:
    """Sentences with slots, and the words for the slots. All pairs are (English, other language)."""

    rows: Mapping[str, Sequence[Pair]]  # slot → its words
    phrases: Sequence[Pair]


def pairs(text: str) -> tuple[Pair, ...]:
    """Read pairs `English = other language`, separated by semicolons or line breaks."""
    found = (part.partition(" = ") for part in re.split(r"[;\n]", text) if part.strip())
    return tuple((english.strip(), other.strip()) for english, _, other in found)


def read_tables(name: str) -> Mapping[str, Any]:
    """The contents of a file beside this one."""
    return tomllib.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))


def read(name: str) -> Phrasebook:
    book = read_tables(name)
    rows = {slot: pairs(text) for slot, text in book["rows"].items()}
    return Phrasebook(rows=rows, phrases=pairs(book["phrases"]["all"]))


GERMAN = read("phrasebook_german.toml")
CHINESE = read("phrasebook_chinese.toml")

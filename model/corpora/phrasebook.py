"""Phrasebooks of our own: what people say first and corpora hardly have; the sentences are in the `.toml` files."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from model.corpora.overlap import Pair

__all__ = ["CHINESE", "GERMAN", "Phrasebook"]


@dataclass(frozen=True, kw_only=True)
class Phrasebook:
    """Sentences with slots, and what may stand in them; all pairs are (English, other)."""

    rows: Mapping[str, Sequence[Pair]]  # slot → what it may be
    phrases: Sequence[Pair]


def pairs(text: str) -> tuple[Pair, ...]:
    """`English = German`, between semicolons or line by line."""
    found = (part.partition(" = ") for part in re.split(r"[;\n]", text) if part.strip())
    return tuple((english.strip(), other.strip()) for english, _, other in found)


def read(name: str) -> Phrasebook:
    book = tomllib.loads((Path(__file__).parent / name).read_text(encoding="utf-8"))
    rows = {slot: pairs(text) for slot, text in book["rows"].items()}
    return Phrasebook(rows=rows, phrases=pairs(book["phrases"]["all"]))


GERMAN = read("phrasebook_german.toml")
CHINESE = read("phrasebook_chinese.toml")

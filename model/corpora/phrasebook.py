"""A phrasebook of our own: what people say first and corpora hardly have; the sentences are in `phrasebook.toml`."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from model.corpora.overlap import Pair

__all__ = ["PHRASES", "ROWS"]

BOOK = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def pairs(text: str) -> tuple[Pair, ...]:
    """`English = German`, between semicolons or line by line."""
    found = (part.partition(" = ") for part in re.split(r"[;\n]", text) if part.strip())
    return tuple((english.strip(), german.strip()) for english, _, german in found)


ROWS: Mapping[str, Sequence[Pair]] = {name: pairs(text) for name, text in BOOK["rows"].items()}
PHRASES: Sequence[Pair] = pairs(BOOK["phrases"]["all"])

"""Sentences that a class types first, each with the translations that a teacher would accept.

A list is a file `<source>-<target>.tsv`: a sentence, then its answers, separated by tabs. `[a/b]` in an answer stands
for either, so that `[Bist du/Sind Sie] müde` is two answers; lines that start with # are headings. No sentence of these
lists is trained on.
"""

import re
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

from model.config.section import ConfigError
from model.corpora.chinese import simplified
from model.corpora.overlap import canonical

__all__ = ["CLASS_LISTS", "ClassSentence", "class_sentences", "read_class_list"]

HAN = re.compile(r"[\u4e00-\u9fff]")
CLASS_LISTS = Path(__file__).parent / "class_lists"


@dataclass(frozen=True, kw_only=True)
class ClassSentence:
    """A source sentence and its answers, the latter without final punctuation."""

    source: str
    answers: frozenset[str]

    def accepts(self, translation: str) -> bool:
        """Whether it is one of the answers, but for what `plain` leaves out."""
        return plain(translation) in self.answers


def plain(text: str) -> str:
    """Without the punctuation at its end; of Chinese without any, nor spaces, in simplified characters."""
    if HAN.search(text):
        return re.sub(r"[\W_]", "", simplified(text))
    return re.sub(r"\s+(?=,)", "", " ".join(text.split())).rstrip(" .!?…")


def answers_of(pattern: str) -> set[str]:
    """Every answer that a pattern such as `Ich [will/möchte] gehen` stands for."""
    parts = (part.split("/") for part in re.split(r"\[(.*?)\]", pattern))
    fixed_or_either = (options if i % 2 else ["/".join(options)] for i, options in enumerate(parts))
    return {plain("".join(chosen)) for chosen in product(*fixed_or_either)}


def read_class_list(source: str, target: str, *, folder: Path = CLASS_LISTS) -> list[ClassSentence]:
    """Read the list of a direction.

    Raises:
        ConfigError: there is none.
    """
    path = folder / f"{source}-{target}.tsv"
    if not path.is_file():
        there = ", ".join(file.stem for file in lists_in(folder)) or "none"
        raise ConfigError(f"There is no list of what a class types from {source} to {target}; there is {there}.")
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = (line.split("\t") for line in lines if line and not line.startswith("#"))
    return [
        ClassSentence(
            source=sentence, answers=frozenset(answer for pattern in patterns for answer in answers_of(pattern))
        )
        for sentence, *patterns in rows
    ]


def lists_in(folder: Path) -> list[Path]:
    return sorted(folder.glob("??-??.tsv"))


@cache
def class_sentences(folder: Path = CLASS_LISTS) -> frozenset[str]:
    """The sources of all lists, canonical, see `model/corpora/overlap.py`.

    Raises:
        ConfigError: there is no list, so that training would read what is tested.
    """
    if not lists_in(folder):
        raise ConfigError(f"There is no list in {folder}; without it, training would read what is tested.")
    directions = (path.stem.split("-") for path in lists_in(folder))
    sentences = (read_class_list(source, target, folder=folder) for source, target in directions)
    return frozenset(canonical(sentence.source) for one in sentences for sentence in one)

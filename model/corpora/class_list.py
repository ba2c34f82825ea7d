"""Sentences that a class types first, with the translations that a teacher would accept.

A list is a file `<source>-<target>.tsv`. Each line has a sentence and its answers, separated by tabs. `[a/b]` in an
answer means a or b, so `[Bist du/Sind Sie] müde` is two answers. Lines that begin with # are headings. The sentences of
these lists are never trained on.
"""

import re
from dataclasses import dataclass
from functools import cache
from itertools import product
from pathlib import Path

from model.config.section import ConfigError
from model.corpora.overlap import canonical, simplified
from model.safety.json_files import MAX_CONFIG_BYTES, read_text

__all__ = ["CLASS_LISTS", "ClassSentence", "class_sentences", "read_class_list"]

HAN = re.compile(r"[\u4e00-\u9fff]")
CLASS_LISTS = Path(__file__).parent / "class_lists"


@dataclass(frozen=True, kw_only=True)
class ClassSentence:
    """A source sentence, and its answers without punctuation at the end."""

    source: str
    answers: frozenset[str]

    def accepts(self, translation: str) -> bool:
        """Whether a translation is one of the answers. `plain` removes what does not matter."""
        return plain(translation) in self.answers


def plain(text: str) -> str:
    """Remove punctuation at the end. For Chinese, remove all punctuation and spaces and use simplified characters."""
    if HAN.search(text):
        return re.sub(r"[\W_]", "", simplified(text))
    return re.sub(r"\s+(?=,)", "", " ".join(text.split())).rstrip(" .!?…")


def answers_of(pattern: str) -> set[str]:
    """All answers of a pattern such as `Ich [will/möchte] gehen`."""
    parts = (part.split("/") for part in re.split(r"\[(.*?)\]", pattern))
    fixed_or_either = (options if i % 2 else ["/".join(options)] for i, options in enumerate(parts))
    return {plain("".join(chosen)) for chosen in product(*fixed_or_either)}


def read_class_list(source: str, target: str, *, folder: Path = CLASS_LISTS) -> list[ClassSentence]:
    """Read the list of a direction.

    Raises:
        ConfigError: there is no such list.
    """
    path = folder / f"{source}-{target}.tsv"
    if not path.is_file():
        available = ", ".join(file.stem for file in lists_in(folder)) or "none"
        raise ConfigError(
            "There is no class list from {source} to {target}. These lists exist: {available}.",
            source=source,
            target=target,
            available=available,
        )
    lines = read_text(path, max_bytes=MAX_CONFIG_BYTES).splitlines()
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
    """The sources of all lists in canonical form, see `model/corpora/overlap.py`.

    Raises:
        ConfigError: there is no list. Then training would read the test sentences.
    """
    if not lists_in(folder):
        raise ConfigError(
            "There is no class list in {folder}. Without it, training would read the test sentences.", folder=folder
        )
    directions = (path.stem.split("-") for path in lists_in(folder))
    sentences = (read_class_list(source, target, folder=folder) for source, target in directions)
    return frozenset(canonical(sentence.source) for one in sentences for sentence in one)

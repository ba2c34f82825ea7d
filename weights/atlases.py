"""Makes the atlases of our checkpoints, of sentences of our own in the language and the form that each model reads.

The words are in `atlases.toml`; the tiny models read stories (`weights/stories/`).
"""

import random
import re
import shutil
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from model.atlas.corpus import open_corpus
from model.atlas.store import ATLAS_FOLDER
from model.atlas.work import make_atlas
from model.config.paths import CHECKPOINTS
from model.config.section import ConfigError
from model.corpora.phrasebook import LANGUAGES
from model.files import LEFTOVER
from model.inference.opening import open_checkpoint
from weights.stories.draw import CHOICE, draw_stories
from weights.vary import capitalized, filled

__all__ = ["FORMS", "TEXTS", "corpus_of", "make_atlases"]

TEXTS = 2_000  # of a checkpoint
PHRASES = 6_000  # sentences of the phrasebook from which the texts are made
START = re.compile(r'(^|[.!?]["“]? |: ["„])([a-zäöü])')  # of a sentence
SLOT = re.compile(r"\{(\w+)(?: \d)?\}")
# Checkpoint → the form of its texts, and their language.
FORMS: Mapping[str, tuple[str, str]] = {
    "everyday-de-en": ("everyday", "de"),
    "everyday-en-de": ("everyday", "en"),
    "everyday-en-zh": ("everyday", "en"),
    "everyday-zh-en": ("everyday", "zh"),
    "gru-de-en": ("captions", "de"),
    "imdb-sentiment": ("reviews", "en"),
    "multi30k-de-en-words": ("captions", "de"),
    "multi30k-en-de": ("captions", "en"),
    "tiny-bert-en": ("stories", "en"),
    "tiny-gpt-en": ("stories", "en"),
}
WORDS: Mapping[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def draw_text(rows: Mapping[str, Sequence[str]], draw: random.Random) -> str:
    """A text with a word in each slot: the same word in equal slots, and other words in the other slots of a list."""
    chosen: dict[str, str] = {}

    def word(slot: re.Match[str]) -> str:
        if slot[0] not in chosen:
            used = {text for other, text in chosen.items() if SLOT.fullmatch(other)[1] == slot[1]}  # type: ignore[index]
            chosen[slot[0]] = draw.choice([text for text in rows[slot[1]] if text not in used])
        return chosen[slot[0]]

    text = draw.choice(rows["text"])
    while CHOICE.search(text):
        text = CHOICE.sub(lambda found: draw.choice(found[1].split("|")), text)
    return START.sub(lambda found: found[1] + found[2].upper(), SLOT.sub(word, text))


def drawn_texts(form: str, language: str, seed: int) -> Iterator[str]:
    """Texts without end, the same for the same seed; stories have an end."""
    if form == "stories":
        yield from (" ".join(lines) for lines in draw_stories(2 * TEXTS, seed=seed))
        return
    rows = dict(WORDS[form][language])
    if form == "everyday":
        phrasebook = LANGUAGES["zh" if language == "zh" else "de"]
        pairs = filled(PHRASES, words=phrasebook, seed=seed)
        rows["phrase"] = sorted({capitalized(pair)[language != "en"] for pair in pairs})
    draw = random.Random(seed)
    while True:
        yield draw_text(rows, draw)


def corpus_of(name: str, *, count: int = TEXTS, seed: int = 1) -> list[str]:
    """The texts of the atlas of a checkpoint, no two equal; the same for the same seed."""
    return list(islice(dict.fromkeys(islice(drawn_texts(*FORMS[name], seed), 3 * count)), count))


def replace_folder(out: Path, made: Path) -> None:
    """Put a copy of a folder in the place of another one, which stays until the copy is complete."""
    whole = shutil.copytree(made, out.with_name(f".{out.name}{LEFTOVER}"), dirs_exist_ok=True)
    shutil.rmtree(out, ignore_errors=True)
    whole.rename(out)


def make_atlases(names: Sequence[str], *, seed: int, report: Callable[[str], object]) -> None:
    """Measure the atlas of each checkpoint again. An atlas stays until its successor is complete.

    Args:
        names: Of bundled checkpoints with attention.
        seed: Of the texts.
        report: Called with a line for each finished atlas.

    Raises:
        ConfigError: there is no such checkpoint.
    """
    if unknown := [name for name in names if name not in FORMS]:
        raise ConfigError(
            "{name} is no bundled checkpoint with attention. Choose among {names}.",
            name=unknown[0],
            names=", ".join(FORMS),
        )
    for name in names:
        out = CHECKPOINTS / name / ATLAS_FOLDER
        with TemporaryDirectory() as place:
            corpus, made = Path(place, f"{FORMS[name][0]}.txt"), Path(place, ATLAS_FOLDER)
            corpus.write_text("".join(f"{text}\n" for text in corpus_of(name, seed=seed)), encoding="utf-8")
            make_atlas(open_checkpoint(CHECKPOINTS / name), open_corpus(corpus), made)
            replace_folder(out, made)
        size = sum(path.stat().st_size for path in out.iterdir())
        report(f"{out}: {size / 1e6:.2f} MB")

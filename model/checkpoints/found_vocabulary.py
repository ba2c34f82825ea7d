"""Finds the vocabularies and their special tokens in a folder of weights without a `headlight.toml`."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from model.checkpoints.description_file import UNKNOWN
from model.config.section import ConfigError
from model.text.vocabulary_list import read_file_tokenizer, read_vocabulary

__all__ = ["find_vocabulary", "likely_specials", "vocabularies_in"]

NO_VOCABULARIES = ("config.json", "requirements.txt", "README.txt", "LICENSE.txt")
USUAL: Mapping[str, tuple[str, ...]] = {
    "pad": ("<pad>", "[PAD]", "<PAD>", "<blank>", "PAD"),
    "bos": ("<s>", "<bos>", "<sos>", "[SOS]", "[BOS]", "<BOS>", "<SOS>", "<start>", "[CLS]", "SOS"),
    "eos": ("</s>", "<eos>", "[EOS]", "<EOS>", "<end>", "[SEP]", "EOS"),
    "unknown": ("<unk>", "[UNK]", "<UNK>", "<oov>", "UNK"),
}
SIDES = {
    "source": r"(^|[._-])(src|source|in|input|enc|encoder)([._-]|$)",
    "target": r"(^|[._-])(tgt|trg|target|out|output|dec|decoder)([._-]|$)",
}
MARK = r"<.+>|\[.+\]"
Vocabulary = Mapping[str, int]


def vocabularies_in(folder: Path) -> dict[str, Vocabulary]:
    """Name → tokens of each file of the folder that is a vocabulary."""
    found = {}
    for path in sorted(folder.iterdir()):
        if path.suffix in (".json", ".txt") and path.name not in NO_VOCABULARIES:
            try:
                tokenizer = read_file_tokenizer(path)
                found[path.name] = read_vocabulary(path) if tokenizer is None else tokenizer.vocabulary
            except ConfigError:
                continue  # another kind of file
    return found


def find_vocabulary(folder: Path, sizes: tuple[int, int], *, around_source: bool = False) -> dict[str, Any]:
    """The settings `vocabulary`, or `source_vocabulary` and `target_vocabulary`, `tokens` and [specials].

    What is not clear is `UNKNOWN`.

    Args:
        folder: With the files.
        sizes: The rows of the embeddings of the source and of the target.
        around_source: A source begins with bos.
    """
    found = vocabularies_in(folder)
    source, target = files_of(found, sizes)
    if source == target != UNKNOWN:
        values: dict[str, Any] = {"vocabulary": source}
    else:
        values = {"source_vocabulary": source, "target_vocabulary": target}
    known = found.get(target) or found.get(source) or {}
    if known and not any(len(token) > 1 for token in without_marks(known)):
        values["tokens"] = "characters"
    specials: dict[str, Any] = specials_in(known)
    own = {name: token for name, token in specials_in(found.get(source, known)).items() if token != specials[name]}
    if not around_source:
        own.pop("bos", None)
    return values | {"specials": specials | ({"source": own} if own else {})}


def files_of(found: Mapping[str, Vocabulary], sizes: tuple[int, int]) -> tuple[str, str]:
    """The file of each side: by its size, or else by its name."""
    if len(found) == 1:
        return (next(iter(found)),) * 2
    chosen = []
    for size, pattern in zip(sizes, SIDES.values(), strict=True):
        fitting = [name for name, vocabulary in found.items() if max(vocabulary.values()) + 1 == size]
        named = [name for name in fitting or found if re.search(pattern, name.lower())]
        only = next((names[0] for names in (fitting, named) if len(names) == 1), UNKNOWN)
        chosen.append(only)
    return chosen[0], chosen[1]


def without_marks(vocabulary: Vocabulary) -> list[str]:
    return [token for token in vocabulary if not re.fullmatch(MARK, token)]


def specials_in(vocabulary: Vocabulary) -> dict[str, str]:
    """The usual special tokens of a vocabulary; `UNKNOWN` where none of them is in it."""
    found = {name: next((token for token in usual if token in vocabulary), UNKNOWN) for name, usual in USUAL.items()}
    return found if found["unknown"] != UNKNOWN else found | {"unknown": ""}


def likely_specials(vocabulary: Vocabulary) -> list[str]:
    """The tokens to choose a special token from: those in brackets, or else the first ones."""
    first = sorted(vocabulary, key=lambda token: vocabulary[token])
    return [token for token in first if re.fullmatch(MARK, token)] or first[:20]

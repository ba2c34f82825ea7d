"""Reads parallel corpora into (source, target) pairs.

Most corpora are folders `<data-dir>/<corpus>/` or `<data-dir>/<corpus>/raw/` with files `<split>.<language>` or
`<split>.<language>.gz`. Each line is a sentence, and line i of both languages belongs together. The corpora in
`TATOEBA` are single files of tab-separated pairs; `model/corpora/splits/` lists their validation and test lines.

Sentences of the lists in `model/corpora/class_lists/` are removed from the training part of every corpus.
"""

import gzip
import os
import shutil
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from pathlib import Path

from model.config.run import CorpusName
from model.corpora.class_list import class_sentences
from model.corpora.overlap import Pair, canonical, sides, simplified, without
from model.messages import MessageError, first_line
from model.safety.json_files import decoded
from model.text.cleaning import clean

__all__ = [
    "TATOEBA",
    "CorpusError",
    "SentencePairs",
    "data_dir",
    "find_side",
    "iterate_lines",
    "kept_apart",
    "read_lines",
    "read_pairs",
    "require_new",
    "write_corpus",
    "write_pairs",
]

SPLITS = Path(__file__).parent / "splits"
# Corpus from manythings.org/anki → the languages of its first two columns. Newer files have more columns.
TATOEBA: Mapping[str, tuple[str, str]] = {
    "cmn-eng": ("en", "zh"),
    "cmn-eng-2026": ("en", "zh"),
    "deu-eng": ("en", "de"),
}


class CorpusError(MessageError, ValueError):
    """A corpus file is missing or cannot be used. The message names the file and the remedy."""


def data_dir(given: str | None = None) -> Path:
    """The folder of the corpora: the given folder, or else `HEADLIGHT_DATA`, or else `data/`."""
    return Path(given or os.environ.get("HEADLIGHT_DATA") or "data")


def find_side(root: Path, corpus: str, split: str, language: str) -> Path:
    """The file of one language of a split.

    Raises:
        CorpusError: there is no such file.
    """
    folder = root / corpus
    for parent in (folder / "raw", folder):
        for name in (f"{split}.{language}.gz", f"{split}.{language}"):
            if (parent / name).is_file():
                return parent / name
    raise CorpusError(
        "There is no {split}.{language} or {split}.{language}.gz in {folder} or {raw}. Name the "
        "right folder with --data-dir, or run: python -m model download {corpus} (for a toy language: "
        "python -m model toy {corpus})",
        split=split,
        language=language,
        folder=folder,
        raw=folder / "raw",
        corpus=corpus,
    )


def iterate_lines(path: Path) -> Iterator[str]:
    """The lines of a text file, also of a gzip file, one after the other.

    Raises:
        CorpusError: the file is missing, empty, incomplete or not UTF-8.
    """
    empty = True
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            # Only line feeds end a line: str.splitlines() also splits at characters that occur inside sentences.
            for number, raw in enumerate(file, start=1):
                line = decoded(raw, f"{path}, line {number}").removesuffix("\n").rstrip("\r")
                empty = empty and not line.strip()
                yield line
    except ValueError as error:
        raise CorpusError(first_line(error)) from error
    except (EOFError, OSError, zlib.error) as error:
        raise CorpusError(
            "{path} cannot be read as gzip ({error}). Download it again.", path=path, error=error
        ) from error
    if empty:
        raise CorpusError("{path} is empty. Download it again.", path=path)


def read_lines(path: Path) -> list[str]:
    """All lines of a text file at once, see `iterate_lines`."""
    return list(iterate_lines(path))


@dataclass(frozen=True)
class SentencePairs:
    """The (source, target) pairs of a split. Each iteration reads the files again; the pairs are not kept in memory."""

    root: Path  # folder of the corpora
    corpus: str  # name of one corpus, or of several joined by `+`
    split: str  # `train`, `val`, or the name of a test set
    source: str  # language code
    target: str  # language code

    def __iter__(self) -> Iterator[Pair]:
        """Raises CorpusError if a file cannot be read, or its two sides have different numbers of lines."""
        training = self.split == "train"
        for corpus in self._corpora():
            read = read_tatoeba if corpus.name in TATOEBA else iterate_parallel
            pairs = read(self.root, corpus.name, self.split, self.source, self.target)
            yield from without(pairs, class_sentences()) if training else pairs

    def files(self) -> list[Path]:
        """The files that are read, each once. Raises CorpusError if one is missing."""
        found = (
            [find_tatoeba(self.root, one.name)]
            if one.name in TATOEBA
            else [find_side(self.root, one.name, self.split, language) for language in (self.source, self.target)]
            for one in self._corpora()
        )
        return list(dict.fromkeys(chain.from_iterable(found)))

    def _corpora(self) -> tuple[CorpusName, ...]:
        corpora = CorpusName.all_in(self.corpus)
        if self.split == "train":
            return corpora
        # A corpus that is named twice counts twice in training, but is tested once.
        tested = (corpus.before_varying for corpus in corpora)
        return tuple(dict.fromkeys(corpus for corpus in tested if not corpus.is_back_translated))


def read_pairs(root: Path, corpus: str, split: str, source: str, target: str) -> list[Pair]:
    """All pairs of a split at once, see `SentencePairs`."""
    return list(SentencePairs(root, corpus, split, source, target))


def kept_apart(root: Path, corpus: str, source: str, target: str) -> list[Pair]:
    """The pairs of all parts of a corpus except the training part.

    Raises:
        CorpusError: there is no such part, or one cannot be read.
    """
    splits = ["val", "test"] if corpus in TATOEBA else other_splits(root / corpus, source, target)
    if not splits:
        raise CorpusError(
            "{root} has only a training part in {source} and {target}.",
            root=root / corpus,
            source=source,
            target=target,
        )
    return [pair for split in splits for pair in read_pairs(root, corpus, split, source, target)]


def other_splits(folder: Path, *languages: str) -> list[str]:
    """The splits that a folder has in all languages, except `train`."""
    parents, endings = (folder / "raw", folder), (".gz", "")
    found = [
        {path.name.partition(".")[0] for parent in parents for end in endings for path in parent.glob(f"*.{one}{end}")}
        for one in languages
    ]
    return sorted(set.intersection(*found) - {"train"})


def iterate_parallel(root: Path, corpus: str, split: str, source: str, target: str) -> Iterator[Pair]:
    paths = [find_side(root, corpus, split, language) for language in (source, target)]
    for first, second in zip_longest(*map(iterate_lines, paths)):
        if first is None or second is None:
            counts = [sum(1 for _ in iterate_lines(path)) for path in paths]
            raise CorpusError(
                "{corpus} {split} is misaligned: {sources} lines of {source}, {targets} lines of {target}.",
                corpus=corpus,
                split=split,
                sources=counts[0],
                source=source,
                targets=counts[1],
                target=target,
            )
        yield first, second


def read_tatoeba(root: Path, corpus: str, split: str, source: str, target: str) -> list[Pair]:
    """Read one split. No sentence of `val` or `test` has a twin in `train`, see `model/corpora/overlap.py`.

    An earlier version compared only the English side, and some checkpoints learned from its training part. For these
    there is the split `unseen`: the pairs of `test` whose target has no twin in that training part.
    """
    if split not in ("train", "val", "test", "unseen"):
        raise CorpusError(
            "{corpus} has no split {split}. It has train, val, test and unseen.", corpus=corpus, split=repr(split)
        )
    parts = tatoeba_parts(root, corpus, source, target)
    if split == "train":
        return list(without(parts["rest"], sides(parts["val"] + parts["test"])))
    if split == "unseen":
        seen = {canonical(pair[1]) for pair in split_by_english(parts, (source, target).index("en"))}
        return [pair for pair in parts["test"] if canonical(pair[1]) not in seen]
    return parts[split]


def tatoeba_parts(root: Path, corpus: str, source: str, target: str) -> dict[str, list[Pair]]:
    """The listed pairs of `val` and `test`, and the `rest`."""
    languages = TATOEBA[corpus]
    if {source, target} != set(languages):
        raise CorpusError(
            "{corpus} has the languages {first} and {second}, not {source} and {target}.",
            corpus=corpus,
            first=languages[0],
            second=languages[1],
            source=source,
            target=target,
        )
    lines = read_lines(find_tatoeba(root, corpus))
    # Half of the Chinese sentences use traditional characters. A model would mix both scripts in one sentence.
    texts = (line.split("\t")[:2] for line in (map(simplified, lines) if "zh" in languages else lines))
    rows = [tuple(map(clean, row)) for row in texts]
    ids = {name: [int(i) for i in (SPLITS / f"{corpus}.{name}.txt").read_text().split()] for name in ("val", "test")}
    listed = {*ids["val"], *ids["test"]}
    if max(listed) >= len(rows) or any(len(row) != 2 for row in rows):
        raise CorpusError("The file of {corpus} does not match its splits. Download it again.", corpus=corpus)
    ids["rest"] = [i for i in range(len(rows)) if i not in listed]
    first, second = (languages.index(language) for language in (source, target))
    return {name: [(rows[i][first], rows[i][second]) for i in chosen] for name, chosen in ids.items()}


def split_by_english(parts: Mapping[str, Sequence[Pair]], english: int) -> list[Pair]:
    """The earlier, larger training part: it leaves out only the English twins of `val` and `test`."""
    held_out = {letters(pair[english]) for pair in [*parts["val"], *parts["test"]]}
    return [pair for pair in parts["rest"] if letters(pair[english]) not in held_out]


def letters(sentence: str) -> str:
    return "".join(character for character in sentence.casefold() if character.isalnum())


def write_pairs(folder: Path, splits: Mapping[str, Sequence[Pair]], languages: tuple[str, str]) -> None:
    """Write a new corpus with files `<split>.<language>`, see `write_corpus`.

    Raises:
        CorpusError: a part would have no pairs.
    """
    if not all(splits.values()):
        raise CorpusError("A part of {folder} would have no pairs, so nothing was written.", folder=folder.name)
    files = {
        f"{split}.{language}": side
        for split, pairs in splits.items()
        for language, side in zip(languages, zip(*pairs, strict=True), strict=True)
    }
    write_corpus(folder, files)


def write_corpus(folder: Path, files: Mapping[str, Sequence[str]]) -> None:
    """Write a new corpus: the name of each file → its lines.

    Raises:
        CorpusError: the folder exists already or cannot be written. Then nothing is written.
    """
    require_new(folder)
    beside = folder.with_name(f".{folder.name}.part")
    try:
        beside.mkdir(parents=True, exist_ok=True)
        for name, lines in files.items():
            (beside / name).write_text("\n".join(lines) + "\n", encoding="utf-8")
        beside.rename(folder)
    except OSError as error:
        shutil.rmtree(beside, ignore_errors=True)
        raise CorpusError("{folder} cannot be written: {strerror}.", folder=folder, strerror=error.strerror) from error


def require_new(folder: Path) -> None:
    """Raises CorpusError if a folder exists: before hours of work, what `write_corpus` would refuse after them."""
    if folder.exists():
        raise CorpusError("{folder} exists already. Remove it to write the corpus again.", folder=folder)


def find_tatoeba(root: Path, corpus: str) -> Path:
    prefix = corpus.partition("-")[0]
    for path in sorted((root / corpus).glob(f"{prefix}*.txt*")):
        return path
    raise CorpusError(
        "There is no {prefix}*.txt or {prefix}*.txt.gz in {root}. The readme names its source.",
        prefix=prefix,
        root=root / corpus,
    )

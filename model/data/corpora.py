"""Reads parallel corpora: one sentence a line, line i of both languages belong together.

A corpus is a folder `<data-dir>/<corpus>/`, or its `raw/`, of files `<split>.<language>` or `<split>.<language>.gz`.
"""

import gzip
import os
from pathlib import Path

__all__ = ["CorpusError", "data_dir", "read_parallel", "read_side"]


class CorpusError(ValueError):
    """A corpus file that is missing or unusable. The message names it and the remedy."""


def data_dir(given: str | None = None) -> Path:
    """Where the corpora are: the given folder, else `HEADLIGHT_DATA`, else `data/`."""
    return Path(given or os.environ.get("HEADLIGHT_DATA") or "data")


def find_side(root: Path, corpus: str, split: str, language: str) -> Path:
    folder = root / corpus
    for parent in (folder / "raw", folder):
        for name in (f"{split}.{language}.gz", f"{split}.{language}"):
            if (parent / name).is_file():
                return parent / name
    raise CorpusError(
        f"There is no {split}.{language} or {split}.{language}.gz in {folder} or {folder / 'raw'}; "
        f"name the right folder with --data-dir, or run: python -m model download {corpus}"
    )


def read_side(root: Path, corpus: str, split: str, language: str) -> list[str]:
    """Read one language of one split.

    Raises:
        CorpusError: the file is missing, empty, cut off or not UTF-8.
    """
    path = find_side(root, corpus, split, language)
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path} is not UTF-8: byte {error.start} is {raw[error.start]:#04x}.") from error
    except (EOFError, OSError) as error:
        raise CorpusError(f"{path} cannot be read as gzip ({error}); download it again.") from error
    # Not splitlines(): that also cuts at characters such as U+0085 that occur inside sentences.
    lines = [line.rstrip("\r") for line in text.split("\n")]
    if lines and not lines[-1]:
        lines.pop()
    if not any(line.strip() for line in lines):
        raise CorpusError(f"{path} is empty; download it again.")
    return lines


def read_parallel(root: Path, corpus: str, split: str, source: str, target: str) -> list[tuple[str, str]]:
    """Read (source, target) sentence pairs.

    Raises:
        CorpusError: a side cannot be read, or the two have different numbers of lines.
    """
    sources, targets = read_side(root, corpus, split, source), read_side(root, corpus, split, target)
    if len(sources) != len(targets):
        raise CorpusError(
            f"{corpus} {split} is misaligned: {len(sources)} lines of {source}, {len(targets)} lines of {target}."
        )
    return list(zip(sources, targets, strict=True))

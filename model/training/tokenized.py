"""The token ids of a training corpus in a folder: written once, completely or not at all, and mapped into memory.

ids.json      version, the SHA-256 of each file of the corpus, types of the numbers, and the size of both other files
index.bin     place and lengths of each pair, 16 bytes
values.bin    the ids of all pairs

The system reads the parts of both large files that are used, and forgets them when memory is short. So a corpus may be
larger than the memory, and the processes of a machine share what is read.
"""

import hashlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from model.corpora.corpora import CorpusError
from model.corpora.examples import INDEX, Example, Examples, write_examples
from model.files import whole_folder
from model.safety.json_files import read_json

__all__ = ["hashes", "open_tokenized", "require_same_files", "write_tokenized"]

FORMAT = 1
FACTS, TABLE, VALUES = "ids.json", "index.bin", "values.bin"


def hashes(root: Path, files: Iterable[Path]) -> dict[str, str]:
    """Name → SHA-256 of files below the folder `root`.

    Raises:
        CorpusError: a file cannot be read.
    """
    found = {}
    for path in files:
        try:
            with path.open("rb") as file:
                found[path.relative_to(root).as_posix()] = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise CorpusError(f"{path} cannot be read ({error}).") from error
    return found


def write_tokenized(
    folder: Path, examples: Iterable[Example | None], types: tuple[str, str], *, files: Mapping[str, str]
) -> None:
    """Write a new folder.

    Args:
        folder: The new folder.
        examples: None stands for one that is left out.
        types: Of the numbers, see `Examples`.
        files: The `hashes` of the corpus.

    Raises:
        CheckpointError: a file cannot be written; there is no folder then.
        CorpusError: the corpus cannot be read; there is no folder then.
    """
    with whole_folder(folder) as beside:
        with (beside / TABLE).open("wb") as index, (beside / VALUES).open("wb") as values:
            left_out = write_examples(examples, types, index=index, values=values)
            for file in (index, values):
                file.flush()
                os.fsync(file.fileno())  # after a power cut, no part must be missing
        facts = {
            "format": FORMAT,
            "files": dict(files),
            "types": types,
            "left_out": left_out,
            "sizes": {name: (beside / name).stat().st_size for name in (TABLE, VALUES)},
        }
        (beside / FACTS).write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")


def open_tokenized(folder: Path) -> tuple[Examples, dict[str, str]]:
    """Map the files of `write_tokenized` into memory: the examples, and each file of the corpus with its SHA-256.

    Raises:
        CorpusError: the folder has another version, or a part of it is missing or damaged.
    """
    remedy = f"Delete {folder} and continue with --resume, which tokenizes the corpus again."
    try:
        facts = read_json(folder / FACTS)
        if facts["format"] != FORMAT:
            found = facts["format"]
            raise CorpusError(f"{folder} has the version {found!r}; this Headlight reads version {FORMAT}. {remedy}")
        for name in (TABLE, VALUES):
            size, expected = (folder / name).stat().st_size, facts["sizes"][name]
            if size != expected:
                raise CorpusError(f"{folder} is incomplete: {name} has {size:,} of {expected:,} bytes. {remedy}")
        first, second = facts["types"]
        examples = Examples(
            index=mapped(folder / TABLE, INDEX),
            values=mapped(folder / VALUES, np.uint8),
            types=(np.dtype(first).str, np.dtype(second).str),
            left_out=int(facts["left_out"]),
        )
        return examples, dict(facts["files"])
    except CorpusError:
        raise
    except FileNotFoundError as error:
        raise CorpusError(f"{folder} is incomplete: there is no {Path(error.filename).name}. {remedy}") from error
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CorpusError(f"{folder} is damaged ({type(error).__name__}: {error}). {remedy}") from error


def mapped(path: Path, kind: Any) -> Any:
    """The numbers of a file. An empty file cannot be mapped."""
    # A plain array: slices of np.memmap take ten times as long.
    return np.asarray(np.memmap(path, kind, mode="r")) if path.stat().st_size else np.empty(0, kind)


def require_same_files(before: Mapping[str, str], now: Mapping[str, str], *, folder: Path) -> None:
    """Raises CorpusError if a file is not the one that was read when the run in `folder` began."""
    changed = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
    if changed:
        raise CorpusError(
            f"{changed[0]} changed after the run in {folder} read it. Put the earlier file back, or train in another "
            "folder with --out."
        )

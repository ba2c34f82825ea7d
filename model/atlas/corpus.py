"""The texts of an atlas: the lines of a file. They are read block by block, so that a corpus of any size fits."""

import hashlib
import os
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from model.corpora.corpora import CorpusError
from model.messages import Message, first_line
from model.safety.json_files import decoded

__all__ = ["BLOCK", "Corpus", "Line", "open_corpus"]

BLOCK = 64  # lines: the unit of work, of a resumed run and of sharing
MAX_LINE_BYTES = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Line:
    """One text of a corpus."""

    number: int  # in the file, from 1
    text: str
    second: str = ""  # after the first tab: a translation, or the second text of a pair


@dataclass(frozen=True, kw_only=True, eq=False)
class Corpus:
    """A file with one text per line. Only the places of its blocks are kept in memory."""

    path: Path
    sha256: str
    lines: int
    texts: int  # lines that are not empty
    with_second: int  # texts with a second text
    starts: Sequence[int]  # the first byte of each block

    @property
    def blocks(self) -> int:
        return len(self.starts)

    def block(self, index: int) -> tuple[Line, ...]:
        """The texts of `BLOCK` lines; may be none.

        Raises:
            CorpusError: the file cannot be read any more.
        """
        first = index * BLOCK + 1
        with opened(self.path) as file:
            file.seek(self.starts[index])
            read = (next_line(file, self.path, first + i)[1] for i in range(min(BLOCK, self.lines - first + 1)))
            return tuple(line for line in read if line.text)


def open_corpus(path: Path) -> Corpus:
    """Read a file once, to check it and to count its lines.

    Raises:
        CorpusError: the file is missing, empty or no UTF-8 text, or a line is too long.
    """
    digest, starts, number, texts, seconds = hashlib.sha256(), array("Q"), 0, 0, 0
    with opened(path) as file:
        while True:
            start = file.tell()
            raw, line = next_line(file, path, number + 1)
            if not raw:
                break
            if number % BLOCK == 0:
                starts.append(start)
            number += 1
            digest.update(raw)
            texts += bool(line.text)
            seconds += bool(line.second)
    if not texts:
        raise CorpusError("{path} has no text. An atlas needs a file with one text per line.", path=path)
    return Corpus(
        path=path, sha256=digest.hexdigest(), lines=number, texts=texts, with_second=seconds, starts=tuple(starts)
    )


def opened(path: Path) -> BinaryIO:
    """Raises CorpusError if there is no such file."""
    try:
        if not os.path.isfile(path):
            raise FileNotFoundError(f"there is no file {path}")
        return path.open("rb")
    except OSError as error:
        raise CorpusError("The corpus cannot be read: {problem}.", problem=first_line(error)) from error


def next_line(file: BinaryIO, path: Path, number: int) -> tuple[bytes, Line]:
    """The bytes of the next line, which are empty at the end of the file, and its texts."""
    raw = file.readline(MAX_LINE_BYTES + 1)
    if len(raw) > MAX_LINE_BYTES:
        raise CorpusError(
            "Line {number} of {path} is longer than {limit} MB. Write each text on its own line.",
            number=number,
            path=path,
            limit=MAX_LINE_BYTES >> 20,
        )
    try:
        content = decoded(raw, f"{path}, line {number}")
        if "\0" in content:
            raise ValueError(Message("{path} is a binary file. An atlas needs text with one text per line.", path=path))
    except ValueError as error:
        raise CorpusError(first_line(error)) from error
    text, *others = (part.strip() for part in content.split("\t"))
    second = others[0] if others else ""
    return raw, Line(number=number, text=text or second, second=second if text else "")

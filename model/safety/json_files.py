"""Text and JSON from outside, read up to a number of bytes and a depth."""

import codecs
import json
from pathlib import Path
from typing import Any

from model.messages import Message

__all__ = [
    "MAX_CONFIG_BYTES",
    "MAX_INDEX_BYTES",
    "MAX_VOCABULARY_BYTES",
    "decoded",
    "read_json",
    "read_text",
]

MAX_CONFIG_BYTES, MAX_INDEX_BYTES, MAX_VOCABULARY_BYTES = 1 << 20, 8 << 20, 40 << 20
MAX_DEPTH = 64  # of nested lists and objects


def decoded(content: bytes, name: str) -> str:
    """The text in a file from outside. A byte order mark is left out, and a Windows line end becomes a line feed.

    Args:
        content: UTF-8.
        name: Of the file, for the message.

    Raises:
        ValueError: it is UTF-16, or another encoding.
    """
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) or b"\0" in content[:2]:
        raise ValueError(Message("{file} is UTF-16 text. Save it as UTF-8, and open it again.", file=name))
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise ValueError(Message("{file} is not UTF-8 text. Save it as UTF-8, and open it again.", file=name)) from None
    return text.replace("\r\n", "\n")


def read_text(path: Path, *, max_bytes: int) -> str:
    """Read a UTF-8 text file, see `decoded`.

    Args:
        path: Of the file.
        max_bytes: How large it may be.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is larger, or it is not UTF-8.
    """
    with path.open("rb") as file:
        content = file.read(max_bytes + 1)
    if len(content) > max_bytes:
        raise ValueError(Message("{file} is larger than {limit} MB.", file=path.name, limit=f"{max_bytes / 1e6:,.0f}"))
    return decoded(content, path.name)


def read_json(path: Path, *, max_bytes: int = MAX_CONFIG_BYTES) -> Any:
    """Read a JSON file whose lists and objects are at most `MAX_DEPTH` deep.

    Args:
        path: Of the file.
        max_bytes: How large it may be.

    Raises:
        OSError: the file cannot be read.
        ValueError: it is larger, deeper or damaged.
    """
    text = read_text(path, max_bytes=max_bytes)
    try:
        values = json.loads(text)
    except RecursionError:
        raise ValueError(Message("{file} is nested too deeply.", file=path.name)) from None
    except ValueError as error:
        raise ValueError(Message("{file} is damaged ({reason}).", file=path.name, reason=str(error))) from error
    level = [values]
    for _ in range(MAX_DEPTH):
        children = [
            part.values() if isinstance(part, dict) else part for part in level if isinstance(part, dict | list)
        ]
        level = [part for parts in children for part in parts]
        if not level:
            return values
    raise ValueError(Message("{file} is nested too deeply.", file=path.name))

"""The file `headlight.toml`, which describes weights that a tutorial's code saved: read and written as plain values."""

import json
import tomllib
from collections.abc import Callable, Iterator, Mapping, Set
from pathlib import Path
from typing import Any, TypeVar

from model.checkpoints.checkpoint import DESCRIPTION
from model.config.section import require
from model.files import CheckpointError, replace_file
from model.messages import Message
from model.safety.errors import first_line
from model.safety.json_files import MAX_CONFIG_BYTES, read_text

__all__ = [
    "UNKNOWN",
    "as_toml",
    "described_by",
    "literal",
    "read_draft",
    "read_values",
    "unknown_settings",
    "write_values",
]

Described = TypeVar("Described")
UNKNOWN = "fill in"  # the value of a setting that weights cannot tell


def read_values(folder: Path) -> Mapping[str, Any]:
    """The values of `headlight.toml`. Its setting `task` is "translation", or "continuation" for a decoder alone.

    Raises:
        CheckpointError: it cannot be read, it is not TOML, or a setting in it is still `UNKNOWN`.
    """
    values = read_draft(folder)
    if unknown := [".".join(path) for path in unknown_settings(values)]:
        raise CheckpointError(
            "{description} of {folder} does not say {settings} yet. Replace each “{unknown}” by its value.",
            description=DESCRIPTION,
            folder=folder.name,
            settings=", ".join(unknown),
            unknown=UNKNOWN,
        )
    return values


def read_draft(folder: Path) -> Mapping[str, Any]:
    """As `read_values`, also while settings are still `UNKNOWN`."""
    try:
        return tomllib.loads(read_text(folder / DESCRIPTION, max_bytes=MAX_CONFIG_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise unusable(folder, first_line(error)) from error


def described_by(folder: Path, describe: Callable[[Mapping[str, Any], Path], Described], known: Set[str]) -> Described:
    """What the file of a folder describes.

    Args:
        folder: With `headlight.toml`.
        describe: From the values and the folder to the description.
        known: The names that the values may have.

    Raises:
        CheckpointError: the file or a file that it names is missing or wrong.
    """
    values = read_values(folder)
    try:
        unknown = sorted(values.keys() - known)
        require(
            not unknown,
            "it has no setting {unknown}. Its settings are: {known}.",
            unknown=", ".join(unknown),
            known=", ".join(sorted(known)),
        )
        return describe(values, folder)
    except (ValueError, TypeError, KeyError) as error:
        missing = isinstance(error, KeyError)
        reason = Message("the setting {name} is missing. Add it.", name=error) if missing else first_line(error)
        raise unusable(folder, reason) from error


def unusable(folder: Path, reason: str) -> CheckpointError:
    return CheckpointError(
        "{description} of {folder} cannot be used: {reason}",
        description=DESCRIPTION,
        folder=folder.name,
        reason=reason,
    )


def unknown_settings(values: Mapping[str, Any]) -> Iterator[tuple[str, ...]]:
    """The keys that lead to each setting that is `UNKNOWN`."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from ((name, *path) for path in unknown_settings(value))
        elif value == UNKNOWN:
            yield (name,)


def write_values(folder: Path, values: Mapping[str, Any]) -> None:
    """Write `headlight.toml`.

    Raises:
        CheckpointError: the file cannot be written.
    """
    replace_file(folder / DESCRIPTION, as_toml(values))


def as_toml(values: Mapping[str, Any]) -> str:
    """The text of a `headlight.toml`: first the plain settings, then the tables."""
    plain = {name: value for name, value in values.items() if not isinstance(value, Mapping)}
    tables = {name: value for name, value in values.items() if isinstance(value, Mapping)}
    blocks = [lines_of(plain), *(f"[{name}]\n{lines_of(table)}" for name, table in tables.items())]
    return "\n".join(block for block in blocks if block)


def lines_of(table: Mapping[str, Any]) -> str:
    return "".join(f"{name} = {literal(value)}\n" for name, value in table.items())


def literal(value: object) -> str:
    """A value in TOML. Its texts, numbers and lists are written as in JSON."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{json.dumps(name)} = {literal(inner)}" for name, inner in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False)

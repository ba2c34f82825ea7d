"""What a checkpoint's files are before a model is built: whether its configuration tells the truth, and its size.

A configuration may claim anything. What it claims is held against the names and shapes of the weights, so that a folder
gets no more memory and time than it fills.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import nn

from model.files import CheckpointError

__all__ = [
    "Header",
    "first_line",
    "read_claims",
    "read_header",
    "read_short",
    "require_honest",
    "require_modest",
    "require_room",
]

COUNTS = re.compile(r"(.*_)?(layers?|groups?|group_num|experts|blocks)")  # keys that say how many modules there are
MOST_MODULES, LARGEST, MOST_TEXT = 1_000, 10**9, 1 << 20  # of one kind; of any number; bytes of a configuration
BYTES = 4  # of a number in memory: all is computed in single precision
SLACK = 1.25  # how many numbers a model may have for each in its files: some that are tied are written once
MODEST = 1 << 26  # numbers of a model that may be built before its files are read
COMPUTED = 1 << 26  # numbers that a model computes for itself, such as sinusoids


@dataclass(frozen=True, kw_only=True)
class Header:
    """What the weights of a folder are, without reading one."""

    shapes: Mapping[str, tuple[int, ...]]

    @property
    def numbers(self) -> int:
        """How many there are in all."""
        return sum(math.prod(shape) for shape in self.shapes.values())


def read_claims(folder: Path) -> dict[str, Any]:
    """`config.json` as it stands.

    Raises:
        CheckpointError: it is missing, too long, no JSON object, or claims what no model has.
    """
    try:
        values = read_short(folder / "config.json")
    except FileNotFoundError as error:
        raise CheckpointError(f"{folder.name} has no config.json, so it is not a checkpoint.") from error
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(f"config.json of {folder.name} cannot be used: {first_line(error)}") from error
    if not isinstance(values, dict):
        raise CheckpointError(f"config.json of {folder.name} cannot be used: it is no JSON object of up to 1 MB.")
    for key, value in numbers_in(values):
        if value > (MOST_MODULES if COUNTS.fullmatch(key) else LARGEST) or value < -LARGEST:
            raise CheckpointError(f"config.json of {folder.name} says that {key} is {value:,}; no model is like that.")
    return values


def read_short(path: Path) -> Any:
    """JSON of a file that is no longer than a configuration can be; None of a longer one.

    Raises:
        OSError, ValueError, RecursionError: there is none, or it is damaged.
    """
    return json.loads(path.read_text(encoding="utf-8")) if path.stat().st_size <= MOST_TEXT else None


def numbers_in(values: object, key: str = "") -> Iterator[tuple[str, int]]:
    """Every whole number, with the key that it stands under."""
    if isinstance(values, dict):
        for name, value in values.items():
            yield from numbers_in(value, str(name))
    elif isinstance(values, list):
        for value in values:
            yield from numbers_in(value, "")
    elif isinstance(values, int):
        yield key, values


def read_header(folder: Path) -> Header:
    """Names and shapes of the weights, of all files that will be read.

    Raises:
        CheckpointError: there are none, a file is damaged, or an index leads out of the folder.
    """
    shapes: dict[str, tuple[int, ...]] = {}
    files = weight_files(folder)
    for file in files:
        try:
            with safe_open(file, framework="np") as opened:
                shapes |= {name: tuple(opened.get_slice(name).get_shape()) for name in opened.keys()}  # noqa: SIM118
        except (OSError, SafetensorError) as error:
            raise CheckpointError(f"{file.name} of {folder.name} is damaged: {error}") from error
    if files:
        return Header(shapes=shapes)
    file = folder / "pytorch_model.bin"
    if not file.is_file():
        raise CheckpointError(f"{folder.name} has no model.safetensors, so there are no weights to open.")
    try:
        loaded = torch.load(file, map_location="meta", weights_only=True)
        return Header(shapes={str(name): tuple(tensor.shape) for name, tensor in loaded.items()})
    except Exception as error:  # a pickle may hold anything; PyTorch refuses what is no tensor
        raise CheckpointError(f"{file.name} of {folder.name} holds more than weights, or is damaged.") from error


def weight_files(folder: Path) -> list[Path]:
    """One file of weights, or those that an index names."""
    whole, index = folder / "model.safetensors", folder / "model.safetensors.index.json"
    if whole.is_file():
        return [whole]
    if not index.is_file():
        return []
    try:
        names = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
        plain = all(Path(name).name == name and (folder / name).is_file() for name in names)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise CheckpointError(f"{index.name} of {folder.name} cannot be used: {first_line(error)}") from error
    if not plain:
        raise CheckpointError(f"{index.name} of {folder.name} names files that are not in the folder.")
    return sorted(folder / name for name in names)


def require_room(numbers: int, name: str, most_bytes: int | None) -> None:
    """Raises CheckpointError where so many numbers do not fit into the memory that there is."""
    needed = numbers * BYTES
    if most_bytes is not None and needed > most_bytes:
        raise CheckpointError(
            f"{name} has {numbers / 1e6:,.0f} million weights and needs {needed / 1e9:.1f} GB of memory; "
            f"{most_bytes / 1e9:.1f} GB may be used here."
        )


def require_honest(build: Callable[[], nn.Module], claims: Mapping[str, Any], header: Header, name: str) -> None:
    """Refuse a configuration that describes another model than the weights are of.

    Args:
        build: Makes the model; here on a device that holds nothing.
        claims: The configuration as it stands.
        header: Of the weights.
        name: Of the checkpoint.

    Raises:
        CheckpointError: there are more layers than tensors, many more numbers, or no such model.
    """
    for key, value in numbers_in(dict(claims)):
        if COUNTS.fullmatch(key) and not key.startswith("max_") and value > len(header.shapes):
            raise CheckpointError(
                f"The configuration of {name} says that {key} is {value:,}; its files hold {len(header.shapes):,} "
                "tensors."
            )
    try:
        with torch.device("meta"):
            built = build()
    except Exception as error:  # sizes that do not fit each other fail in as many ways as there are models
        raise CheckpointError(f"The configuration of {name} describes no model: {first_line(error)}") from error
    learned, computed = (sum(part.numel() for part in parts) for parts in (built.parameters(), built.buffers()))
    if learned > SLACK * header.numbers or computed > COMPUTED:
        raise CheckpointError(
            f"The configuration of {name} describes {learned + computed:,} weights, but its files hold "
            f"{header.numbers:,}."
        )


def require_modest(build: Callable[[], nn.Module], claims: Mapping[str, Any], folder: Path) -> None:
    """Of one of our own: hold a large claim against the weights; a small one costs little to be found out later.

    Args:
        build: Makes the model; here on a device that holds nothing.
        claims: Its sizes.
        folder: Of the checkpoint.

    Raises:
        CheckpointError: there are too many layers, or many more numbers than in the files.
    """
    for key, value in numbers_in(dict(claims)):
        if COUNTS.fullmatch(key) and value > MOST_MODULES:
            raise CheckpointError(f"config.json of {folder.name} says that {key} is {value:,}; no model is like that.")
    with torch.device("meta"):
        built = build()
    if sum(tensor.numel() for tensor in (*built.parameters(), *built.buffers())) > MODEST:
        require_honest(build, claims, read_header(folder), folder.name)


def first_line(error: BaseException) -> str:
    """What a library says, in a line."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]

"""Bounds for the files of a checkpoint that somebody else made. They hold for every format that opens.

Text is read up to a number of bytes and a depth. Weights are known by their names and shapes before one is read, and
stay in their file until they are used. What a configuration claims is compared with these shapes before a model is
built, so a folder gets no more memory and time than it fills.
"""

import io
import json
import math
import pickletools
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from model.files import CheckpointError

__all__ = [
    "Header",
    "first_line",
    "read_config_json",
    "read_header",
    "read_json",
    "read_small_json",
    "read_text",
    "require_matching_weights",
    "require_memory",
    "require_plausible_sizes",
    "stored_tensors",
]

COUNTS = re.compile(r"(.*_)?(layers?|groups?|group_num|experts|blocks)")  # keys that say how many modules there are
MOST_MODULES, LARGEST = 1_000, 10**9  # of one kind; of any number
# Bytes of a configuration, of an index of weights, of a vocabulary; how deep JSON may be nested.
MAX_CONFIG_BYTES, MAX_INDEX_BYTES, MAX_VOCABULARY_BYTES, DEEPEST = 1 << 20, 8 << 20, 40 << 20, 64
MOST_PICKLE, MOST_STEPS = 4 << 20, 400_000  # bytes and steps of the pickle in a file of PyTorch: about 10,000 tensors
# What such a pickle may build. PyTorch itself would allow more, some of which takes memory without end.
HARMLESS = re.compile(
    r"collections (OrderedDict|Counter)|torch(\.storage)? \w+Storage|torch (Size|device|b?float\d+|u?int\d+|bool)"
    r"|torch\._utils _rebuild_(tensor|tensor_v2|parameter)"
)
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


def read_config_json(folder: Path) -> dict[str, Any]:
    """`config.json` as it stands.

    Raises:
        CheckpointError: it is missing, too long, no JSON object, or claims what no model has.
    """
    try:
        values = read_small_json(folder / "config.json")
    except FileNotFoundError as error:
        raise CheckpointError(f"{folder.name} has no config.json, so it is not a checkpoint.") from error
    except (OSError, ValueError) as error:
        raise CheckpointError(f"config.json of {folder.name} cannot be used: {first_line(error)}") from error
    if not isinstance(values, dict):
        raise CheckpointError(f"config.json of {folder.name} cannot be used: it is not a JSON object.")
    require_possible_sizes(values, folder.name)
    return values


def require_possible_sizes(claims: Mapping[str, Any], name: str) -> None:
    """Raises CheckpointError where a number is larger than that of any model."""
    for key, value in numbers_in(claims):
        most = MOST_MODULES if COUNTS.fullmatch(key) else LARGEST
        if not -LARGEST <= value <= most:
            raise CheckpointError(
                f"In config.json of {name}, {key} is {value:,}. The largest value that opens is {most:,}."
            )


def read_text(path: Path, *, most: int) -> str:
    """A text file of up to so many bytes.

    Raises:
        OSError, ValueError: there is none, it is longer, or it is no text.
    """
    with path.open("rb") as file:
        found = file.read(most + 1)
    if len(found) > most:
        raise ValueError(f"{path.name} is larger than {most / 1e6:,.0f} MB.")
    return found.decode("utf-8")


def read_json(path: Path, *, most: int) -> Any:
    """JSON of up to so many bytes that is not nested deeply.

    Raises:
        OSError, ValueError: there is none, it is longer or deeper, or it is damaged.
    """
    try:
        values = json.loads(read_text(path, most=most))
    except RecursionError:
        raise ValueError(f"{path.name} is nested too deeply.") from None
    below = [values]
    for _ in range(DEEPEST):
        lists = [part.values() if isinstance(part, dict) else part for part in below if isinstance(part, dict | list)]
        below = [part for parts in lists for part in parts]
        if not below:
            return values
    raise ValueError(f"{path.name} is nested too deeply.")


def read_small_json(path: Path) -> Any:
    """JSON of a file that is no longer than a configuration can be.

    Raises:
        OSError, ValueError: there is none, it is longer, or it is damaged.
    """
    return read_json(path, most=MAX_CONFIG_BYTES)


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
    files = weight_files(folder, "model.safetensors")
    for file in files:
        try:
            with safe_open(file, framework="np") as opened:
                shapes |= {name: tuple(opened.get_slice(name).get_shape()) for name in opened.keys()}  # noqa: SIM118
        except (OSError, SafetensorError) as error:
            raise CheckpointError(f"{file.name} of {folder.name} is damaged ({error}). Copy it again.") from error
    if files:
        return Header(shapes=shapes)
    files = weight_files(folder, "pytorch_model.bin")
    if not files:
        raise CheckpointError(f"{folder.name} has no weights: it has neither model.safetensors nor pytorch_model.bin.")
    for file in files:
        shapes |= {name: tuple(tensor.shape) for name, tensor in stored_tensors(file).items()}
    return Header(shapes=shapes)


def stored_tensors(path: Path) -> dict[str, Tensor]:
    """The state dict in a file that `torch.save` wrote. Its tensors stay in the file until they are used.

    Raises:
        CheckpointError: the file is missing or damaged, it is compressed, or it holds more than tensors.
    """
    try:
        mapped = require_plain(path)
        loaded = torch.load(path, map_location="cpu", weights_only=True, mmap=mapped)
    except CheckpointError:
        raise
    except OSError as error:
        raise CheckpointError(f"{path.name} cannot be read: {error}") from error
    except Exception as error:  # a pickle may hold anything; PyTorch refuses what is no tensor
        raise CheckpointError(
            f"{path.name} is damaged, or it contains more than tensors. No code in it was run."
        ) from error
    for name in ("state_dict", "model_state_dict", "model"):  # as training loops wrap it
        if isinstance(loaded, dict) and isinstance(loaded.get(name), dict):
            loaded = loaded[name]
    if not isinstance(loaded, dict) or not all(isinstance(value, Tensor) for value in loaded.values()):
        raise CheckpointError(f"{path.name} is not a state dict. A state dict maps names to tensors.")
    if any(tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes() for tensor in loaded.values()):
        raise CheckpointError(f"{path.name} is damaged: a tensor is larger than its data.")
    return {str(name): tensor for name, tensor in loaded.items()}


def require_plain(path: Path) -> bool:
    """Refuse a file of `torch.save` that is compressed, or that builds more than tensors.

    Returns:
        Whether it is an archive, which PyTorch can map into memory; files of before version 1.6 are none.

    Raises:
        CheckpointError: it is compressed.
        ValueError, KeyError, zipfile.BadZipFile: it is damaged, or builds more.
    """
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            file.seek(0)
            for _ in range(5):  # a number, a version, the machine, the tensors, the keys of their storages
                require_harmless(file)
            return False
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            if any(member.compress_type != zipfile.ZIP_STORED for member in members):
                raise CheckpointError(f"{path.name} is compressed. Save it again with torch.save, without compression.")
            # PyTorch reads one of them, and pays no attention to case.
            pickles = [member for member in members if member.filename.lower().endswith("data.pkl")]
            if len(pickles) != 1:
                raise ValueError(f"it holds {len(pickles)} pickles.")
            with archive.open(pickles[0]) as opened:
                require_harmless(io.BytesIO(opened.read(MOST_PICKLE)))
    return True


def require_harmless(file: BinaryIO) -> None:
    """Raises ValueError where a pickle takes too many steps or names anything but tensors."""
    for count, (step, argument, _) in enumerate(pickletools.genops(file)):
        if step.name in ("GLOBAL", "INST") and not HARMLESS.fullmatch(str(argument)):
            raise ValueError(f"it names {argument}.")
        if step.name in ("STACK_GLOBAL", "EXT1", "EXT2", "EXT4"):
            raise ValueError("it names an object that cannot be checked.")
        if count > MOST_STEPS:
            raise ValueError("it has more steps than a state dict.")


def weight_files(folder: Path, name: str) -> list[Path]:
    """One file of weights, or those that an index names; none where there is neither."""
    whole, index = folder / name, folder / f"{name}.index.json"
    if whole.is_file():
        return [whole]
    if not index.is_file():
        return []
    try:
        names = set(read_json(index, most=MAX_INDEX_BYTES)["weight_map"].values())
        plain = all(Path(name).name == name and (folder / name).is_file() for name in names)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(f"{index.name} of {folder.name} cannot be used: {first_line(error)}") from error
    if not plain:
        raise CheckpointError(f"{index.name} of {folder.name} names files that are not in the folder.")
    return sorted(folder / name for name in names)


def require_memory(numbers: int, name: str, max_bytes: int | None) -> None:
    """Raises CheckpointError where so many numbers do not fit into the memory that there is."""
    needed = numbers * BYTES
    if max_bytes is not None and needed > max_bytes:
        raise CheckpointError(
            f"{name} has {numbers / 1e6:,.0f} million weights and needs {needed / 1e9:.1f} GB of memory. "
            f"The limit here is {max_bytes / 1e9:.1f} GB. Choose a smaller model."
        )


def require_matching_weights(
    build: Callable[[], nn.Module], claims: Mapping[str, Any], header: Header, name: str
) -> int:
    """Refuse a configuration that describes another model than the weights are of.

    Args:
        build: Makes the model; here on a device that holds nothing.
        claims: The configuration as it stands.
        header: Of the weights.
        name: Of the checkpoint.

    Returns:
        How many numbers the model has in memory.

    Raises:
        CheckpointError: there are more layers than tensors, many more numbers, or no such model.
    """
    for key, value in numbers_in(dict(claims)):
        if COUNTS.fullmatch(key) and not key.startswith("max_") and value > len(header.shapes):
            raise CheckpointError(
                f"In the configuration of {name}, {key} is {value:,}, but its files hold only "
                f"{len(header.shapes):,} tensors."
            )
    learned, computed = counted(build, name)
    if learned > SLACK * header.numbers or computed > COMPUTED:
        raise CheckpointError(
            f"The configuration of {name} describes {learned + computed:,} weights, but its files hold "
            f"{header.numbers:,}."
        )
    return learned + computed


def counted(build: Callable[[], nn.Module], name: str) -> tuple[int, int]:
    """How many numbers a model learns and how many it computes, without the memory for one.

    Raises:
        CheckpointError: there is no such model.
    """
    try:
        with torch.device("meta"):
            built = build()
        return sum(part.numel() for part in built.parameters()), sum(part.numel() for part in built.buffers())
    except Exception as error:  # sizes that do not fit each other fail in as many ways as there are models
        raise CheckpointError(f"The configuration of {name} fits no model: {first_line(error)}") from error


def require_plausible_sizes(build: Callable[[], nn.Module], claims: Mapping[str, Any], folder: Path) -> None:
    """Refuse a model of our own that claims many more numbers than its files hold; small claims are checked later.

    Args:
        build: Makes the model; here on a device that holds nothing.
        claims: Its sizes.
        folder: Of the checkpoint.

    Raises:
        CheckpointError: there are too many layers, or many more numbers than in the files.
    """
    require_possible_sizes(claims, folder.name)
    if sum(counted(build, folder.name)) > MODEST:
        require_matching_weights(build, claims, read_header(folder), folder.name)


def first_line(error: BaseException) -> str:
    """What a library says, in a line."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]

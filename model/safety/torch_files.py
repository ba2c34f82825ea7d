"""State dicts in files of `torch.save`. Such a file is a pickle, which may run code; here it builds only tensors."""

import io
import pickletools
import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any, BinaryIO

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from model.files import CheckpointError
from model.safety.pickles import why_no_state_dict

__all__ = ["SavedFile", "read_saved_file", "read_state_dict"]

MAX_PICKLE_BYTES, MAX_PICKLE_STEPS = 4 << 20, 400_000  # enough for about 10,000 tensors
MAX_DEPTH, MAX_SETTINGS = 16, 10_000  # of nested dictionaries; values that stand beside a state dict
PLAIN = (bool, int, float, str, dict, list, tuple)
# What the pickle may build. PyTorch allows more, and some of that takes memory without end.
HARMLESS = re.compile(
    r"collections (OrderedDict|Counter)|torch(\.storage)? \w+Storage|torch (Size|device|b?float\d+|u?int\d+|bool)"
    r"|torch\._utils _rebuild_(tensor|tensor_v2|parameter)"
)
# Keys under which training loops store a state dict; the first of them that a file has counts.
WRAPPERS = ("state_dict", "model_state_dict", "model_state", "model", "net", "ema")
PREFIXES = ("module.", "model.")  # of DataParallel, of a module around the model
COMPILED = "_orig_mod."  # torch.compile adds it where a compiled module begins


@dataclass(frozen=True, kw_only=True, eq=False)
class SavedFile:
    """What a training loop saved: the state dict of a model, and what stands beside it."""

    tensors: Mapping[str, Tensor]  # name → tensor, without `prefix`
    prefix: str = ""  # stood before every name in the file, such as "module."
    settings: Mapping[str, Any] = field(default_factory=dict)  # numbers, texts, lists and dictionaries of them
    beside: tuple[str, ...] = ()  # keys of other tensors, such as the state of the optimizer

    def key(self, name: str) -> str:
        """The key in `tensors` of a name as the file has it."""
        return name.replace(COMPILED, "").removeprefix(self.prefix)


def read_saved_file(path: Path) -> SavedFile:
    """Read a file of `torch.save`, or a safetensors file. Its tensors stay in the file until they are used.

    Raises:
        CheckpointError: the file is missing, damaged or compressed, or it contains code.
    """
    if path.suffix == ".safetensors":
        return without_prefix(read_safetensors(path))
    return without_prefix(unwrapped(read_pickle(path), path))


def read_state_dict(path: Path) -> dict[str, Tensor]:
    """Read the state dict in a file of `torch.save`, with the names in the file.

    Raises:
        CheckpointError: the file is missing, damaged or compressed, or it contains code.
    """
    return dict(unwrapped(read_pickle(path), path).tensors)


def read_safetensors(path: Path) -> SavedFile:
    try:
        with safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
            return SavedFile(tensors=tensors, settings=file.metadata() or {})
    except (OSError, SafetensorError) as error:
        raise CheckpointError("{path} cannot be read: {error}", path=path.name, error=error) from error


def read_pickle(path: Path) -> object:
    try:
        is_archive = require_plain(path)
        return torch.load(path, map_location="cpu", weights_only=True, mmap=is_archive)
    except CheckpointError:
        raise
    except OSError as error:
        raise CheckpointError("{path} cannot be read: {error}", path=path.name, error=error) from error
    except Exception as error:  # a pickle may fail in any way; PyTorch refuses what is not a tensor
        raise CheckpointError(why_no_state_dict(path)) from error


def unwrapped(loaded: object, path: Path) -> SavedFile:
    """Find the state dict in what was loaded, perhaps under a key such as "model", or in parts with a key each."""
    outer: dict[str, Any] = {}
    for _ in range(MAX_DEPTH):
        if not isinstance(loaded, dict):
            break
        inner = next((key for key in WRAPPERS if isinstance(loaded.get(key), dict)), None)
        parts = {inner: loaded[inner]} if inner else state_dicts_in(loaded)
        if not parts:
            break
        outer |= {str(key): value for key, value in loaded.items() if key not in parts}
        loaded = joined(parts)
    if not isinstance(loaded, dict) or not any(isinstance(value, Tensor) for value in loaded.values()):
        raise CheckpointError("{path} is not a state dict. A state dict maps names to tensors.", path=path.name)
    tensors = {str(name): value for name, value in loaded.items() if isinstance(value, Tensor)}
    if any(tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes() for tensor in tensors.values()):
        raise CheckpointError("{path} is damaged: a tensor is larger than its data.", path=path.name)
    outer |= {str(name): value for name, value in loaded.items() if not isinstance(value, Tensor)}
    beside = tuple(name for name, value in outer.items() if not is_plain(value))
    return SavedFile(
        tensors=tensors, settings={name: value for name, value in outer.items() if name not in beside}, beside=beside
    )


def state_dicts_in(loaded: dict[Any, Any]) -> dict[Any, Any]:
    """The entries that are state dicts; nothing if there are tensors beside them."""
    if any(isinstance(value, Tensor) for value in loaded.values()):
        return {}
    dictionaries = {key: value for key, value in loaded.items() if isinstance(value, dict) and value}
    return {key: d for key, d in dictionaries.items() if all(isinstance(value, Tensor) for value in d.values())}


def joined(parts: Mapping[Any, Mapping[Any, Any]]) -> dict[str, Any]:
    """The only dictionary, or several under their keys, such as "encoder.layers.0.weight"."""
    if len(parts) == 1:
        return {str(name): value for part in parts.values() for name, value in part.items()}
    return {f"{key}.{name}": value for key, part in parts.items() for name, value in part.items()}


def is_plain(value: object) -> bool:
    """Whether a value consists of a few numbers and texts. A pickle may also make a list that contains itself."""
    level = [value]
    for _ in range(MAX_DEPTH):
        if len(level) > MAX_SETTINGS or not all(one is None or isinstance(one, PLAIN) for one in level):
            return False
        inner = (
            one.values() if isinstance(one, dict) else one for one in level if isinstance(one, dict | list | tuple)
        )
        level = list(islice(chain.from_iterable(inner), MAX_SETTINGS + 1))
    return not level


def without_prefix(saved: SavedFile) -> SavedFile:
    """Take away what stands before every name."""
    saved = replace(saved, tensors={name.replace(COMPILED, ""): tensor for name, tensor in saved.tensors.items()})
    for prefix in PREFIXES:
        if all(name.startswith(prefix) and name != prefix for name in saved.tensors):
            tensors = {name.removeprefix(prefix): tensor for name, tensor in saved.tensors.items()}
            return without_prefix(replace(saved, tensors=tensors, prefix=saved.prefix + prefix))
    return saved


def require_plain(path: Path) -> bool:
    """Refuse a file of `torch.save` that is compressed, or that builds more than tensors.

    Returns:
        Whether the file is an archive, which PyTorch can map into memory. Files from before PyTorch 1.6 are not.

    Raises:
        CheckpointError: the file is compressed.
        ValueError, KeyError, zipfile.BadZipFile: it is damaged, or it builds more than tensors.
    """
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            file.seek(0)
            for _ in range(5):  # a magic number, a version, the system, the tensors, the keys of their storages
                require_harmless(file)
            return False
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            if any(member.filename.endswith("/constants.pkl") for member in members):
                raise ValueError("it is a TorchScript program.")
            if any(member.compress_type != zipfile.ZIP_STORED for member in members):
                raise CheckpointError(
                    "{path} is compressed. Save it again with torch.save, without compression.", path=path.name
                )
            # PyTorch reads only one, and its search ignores upper and lower case.
            pickles = [member for member in members if member.filename.lower().endswith("data.pkl")]
            if len(pickles) != 1:
                raise ValueError(f"it holds {len(pickles)} pickles.")
            with archive.open(pickles[0]) as opened:
                require_harmless(io.BytesIO(opened.read(MAX_PICKLE_BYTES)))
    return True


def require_harmless(file: BinaryIO) -> None:
    """Refuse a pickle that names anything but tensors.

    Raises:
        ValueError: it names something else, or has more than `MAX_PICKLE_STEPS` steps.
    """
    for count, (step, argument, _) in enumerate(pickletools.genops(file)):
        if step.name in ("GLOBAL", "INST") and not HARMLESS.fullmatch(str(argument)):
            raise ValueError(f"it names {argument}.")
        if step.name in ("STACK_GLOBAL", "EXT1", "EXT2", "EXT4"):
            raise ValueError("it names an object that cannot be checked.")
        if count > MAX_PICKLE_STEPS:
            raise ValueError("it has more steps than a state dict.")

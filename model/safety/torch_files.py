"""State dicts in files of `torch.save`. Such a file is a pickle, which may run code; here it builds only tensors."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from model.files import CheckpointError
from model.safety.pickles import require_harmless_file, why_no_state_dict

__all__ = ["SavedFile", "read_saved_file", "read_state_dict"]

MAX_DEPTH, MAX_SETTINGS = 16, 10_000  # of nested dictionaries; values that stand beside a state dict
PLAIN = (bool, int, float, str, dict, list, tuple)
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
    except SafetensorError as error:
        raise CheckpointError(
            "{path} is damaged, or not a safetensors file: {error}. Download or save it again.",
            path=path.name,
            error=error,
        ) from error
    except OSError as error:
        raise CheckpointError("{path} cannot be read: {error}", path=path.name, error=error) from error


def read_pickle(path: Path) -> object:
    try:
        is_archive = require_harmless_file(path)
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

"""Write files and folders, each as a whole or not at all: text, and tensors as safetensors, without code."""

import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

from model.messages import Message, MessageError

__all__ = [
    "CheckpointError",
    "finite",
    "load_weights",
    "remove_leftovers",
    "replace_file",
    "save_tensors",
    "save_weights",
    "whole_folder",
]

LEFTOVER = ".part"


class CheckpointError(MessageError, ValueError):
    """A checkpoint cannot be used. The message names it, the reason and, where there is one, the remedy."""


def replace_file(path: Path, content: str | bytes | Iterable[bytes]) -> None:
    """Replace a file as a whole, so that a reader never sees half of it.

    Args:
        path: Of the file.
        content: The whole content, or its chunks; each is written before the next is computed.

    Raises:
        CheckpointError: the file cannot be written; an earlier file is unchanged.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}{LEFTOVER}")
    try:
        with temporary.open("wb") as file:
            whole = content.encode() if isinstance(content, str) else content
            file.writelines([whole] if isinstance(whole, bytes) else whole)
            file.flush()
            os.fsync(file.fileno())  # after a power cut, the file must not be empty
        temporary.replace(path)
    except OSError as error:
        if not path.parent.is_dir():
            raise CheckpointError(
                "{path} could not be written: there is no folder {folder}. Create it, or choose another folder.",
                path=path,
                folder=path.parent,
            ) from error
        if not path.exists():
            raise CheckpointError("{path} could not be written ({error}).", path=path, error=error) from error
        raise CheckpointError(
            "{path} could not be written ({error}). The earlier file is kept.", path=path, error=error
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """A new folder that gets its name at the end; after an error it is gone.

    Raises:
        CheckpointError: a file in it cannot be written.
    """
    temporary = out.with_name(f".{out.name}.{os.getpid()}{LEFTOVER}")
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir()
        yield temporary
        temporary.rename(out)
    except OSError as error:
        raise CheckpointError("{path} could not be written ({error}).", path=out, error=error) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def finite(value: object) -> object:
    """The same data with null for each number that is not finite: JSON has no NaN."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, Mapping):
        return {name: finite(part) for name, part in value.items()}
    return [finite(part) for part in value] if isinstance(value, list | tuple) else value


def remove_leftovers(folder: Path) -> None:
    """Delete what a killed process left in this folder: temporary files, and folders of `whole_folder`."""
    for path in folder.glob(f".*{LEFTOVER}"):
        if re.fullmatch(rf"\.[\w-]+\.\d+\{LEFTOVER}", path.name) and path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        if re.fullmatch(rf"\.[\w-]+\.(json|csv|safetensors)\.\d+\{LEFTOVER}", path.name) and path.is_file():
            path.unlink(missing_ok=True)


def save_tensors(path: Path, tensors: Mapping[str, Tensor], *, metadata: Mapping[str, str] | None = None) -> None:
    """Replace a safetensors file as a whole.

    Args:
        path: Of the file.
        tensors: Name → tensor.
        metadata: Texts in the header of the file.

    Raises:
        CheckpointError: the file cannot be written; the earlier file is unchanged.
    """
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    # Not save_file of the library: when killed, it leaves a file with a common name (.tmp…), which we could not delete.
    replace_file(path, save(plain, metadata=dict(metadata) if metadata else None))


def save_weights(path: Path, weights: Mapping[str, Tensor]) -> None:
    """Write a safetensors file in half precision, and create its folder if needed.

    Raises:
        CheckpointError: a weight is not finite in half precision, or the file cannot be written.
    """
    half = {name: tensor.to(torch.float16) for name, tensor in weights.items()}
    broken = [name for name, tensor in half.items() if not tensor.isfinite().all()]
    if broken:
        raise CheckpointError(
            "{name} is not finite in half precision. {path} was not written.", name=broken[0], path=path.name
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    save_tensors(path, half)


def load_weights(path: Path, model: nn.Module) -> None:
    """Copy a safetensors file into `model`, after a comparison of all names and shapes.

    Raises:
        CheckpointError: the file is missing or damaged, or it was made for another model.
    """
    where = Message("{file} of {folder}", file=path.name, folder=path.parent.name)
    parameters = dict(model.named_parameters())
    try:
        with safe_open(path, framework="pt") as file:
            for name in sorted(parameters.keys() ^ set(file.keys())):
                if name in parameters:
                    raise CheckpointError(
                        "{name} is missing in {where}. The file was made for another configuration.",
                        name=name,
                        where=where,
                    )
                raise CheckpointError(
                    "{where} has the unknown tensor {name}. The file was made for another configuration.",
                    name=name,
                    where=where,
                )
            for name, parameter in parameters.items():
                shape = tuple(file.get_slice(name).get_shape())
                if shape != tuple(parameter.shape):
                    raise CheckpointError(
                        "{name} in {where} has shape {shape}, but config.json requires {tuple}.",
                        name=name,
                        where=where,
                        shape=shape,
                        tuple=tuple(parameter.shape),
                    )
            with torch.no_grad():
                for name, parameter in parameters.items():
                    parameter.copy_(file.get_tensor(name))
    except FileNotFoundError as error:
        raise CheckpointError("{parent} has no {path} yet.", parent=path.parent.name, path=path.name) from error
    except (SafetensorError, OSError) as error:
        raise CheckpointError(
            "{where} is damaged or not a safetensors file ({error}). Copy it again.", where=where, error=error
        ) from error

"""Files of a checkpoint, replaced as a whole or not at all: text, and tensors in safetensors, which hold no code."""

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn

__all__ = ["CheckpointError", "load_weights", "remove_leftovers", "replace_file", "save_tensors", "save_weights"]

LEFTOVER = ".part"


class CheckpointError(ValueError):
    """A checkpoint that cannot be used. The message names it and says why."""


def replace_file(path: Path, content: str | bytes | Iterable[bytes]) -> None:
    """Replace a file as a whole, so that no reader ever sees half of it.

    Args:
        path: Of the file.
        content: All of it, or its pieces, each written before the next is made.

    Raises:
        CheckpointError: it cannot be written; the earlier file is untouched.
    """
    beside = path.with_name(f".{path.name}.{os.getpid()}{LEFTOVER}")
    try:
        with beside.open("wb") as file:
            whole = content.encode() if isinstance(content, str) else content
            file.writelines([whole] if isinstance(whole, bytes) else whole)
            file.flush()
            os.fsync(file.fileno())  # a power cut must not leave the new name with no content
        beside.replace(path)
    except OSError as error:
        raise CheckpointError(f"{path} could not be written ({error}). The earlier file is kept.") from error
    finally:
        beside.unlink(missing_ok=True)


def remove_leftovers(folder: Path) -> None:
    """Delete what a process that was killed while it wrote left beside our files in this folder."""
    for path in folder.glob(f".*{LEFTOVER}"):
        if re.fullmatch(rf"\.[\w-]+\.(json|csv|safetensors)\.\d+\{LEFTOVER}", path.name) and path.is_file():
            path.unlink(missing_ok=True)


def save_tensors(path: Path, tensors: Mapping[str, Tensor], *, metadata: Mapping[str, str] | None = None) -> None:
    """Replace a safetensors file as a whole.

    Raises:
        CheckpointError: it cannot be written; the earlier file is untouched.
    """
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    # Not the library's save_file: what it leaves when it is killed (.tmp…) has a name that others use too.
    replace_file(path, save(plain, metadata=dict(metadata) if metadata else None))


def save_weights(path: Path, weights: Mapping[str, Tensor]) -> None:
    """Write a safetensors file in half precision, its folder too where there is none.

    Raises:
        CheckpointError: a weight is not finite in half precision.
    """
    half = {name: tensor.to(torch.float16) for name, tensor in weights.items()}
    broken = [name for name, tensor in half.items() if not tensor.isfinite().all()]
    if broken:
        raise CheckpointError(f"{broken[0]} is not finite in half precision. {path.name} was not written.")
    path.parent.mkdir(parents=True, exist_ok=True)
    save_tensors(path, half)


def load_weights(path: Path, model: nn.Module) -> None:
    """Copy a safetensors file into `model`, after its names and shapes were compared.

    Raises:
        CheckpointError: the file is missing, damaged, or made for another model.
    """
    where = f"{path.name} of {path.parent.name}"
    wanted = dict(model.named_parameters())
    try:
        with safe_open(path, framework="pt") as file:
            found = set(file.keys())
            for name in sorted(wanted.keys() ^ found):
                problem = (
                    f"{name} is missing in {where}" if name in wanted else f"{where} has the unknown tensor {name}"
                )
                raise CheckpointError(f"{problem}. The file was made for another configuration.")
            for name, parameter in wanted.items():
                shape = tuple(file.get_slice(name).get_shape())
                if shape != tuple(parameter.shape):
                    raise CheckpointError(
                        f"{name} in {where} has shape {shape}, but config.json requires {tuple(parameter.shape)}."
                    )
            with torch.no_grad():
                for name, parameter in wanted.items():
                    parameter.copy_(file.get_tensor(name))
    except FileNotFoundError as error:
        raise CheckpointError(f"{path.parent.name} has no {path.name} yet.") from error
    except (SafetensorError, OSError) as error:
        raise CheckpointError(f"{where} is damaged or not a safetensors file ({error}). Copy it again.") from error

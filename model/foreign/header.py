"""What the weights of a folder are before one of them is read, and whether its configuration tells the truth."""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from transformers import PreTrainedConfig, PreTrainedModel

from model.files import CheckpointError

__all__ = ["Header", "first_line", "read_header", "require_honest", "require_room"]

LAYERS = re.compile("(n|num|encoder|decoder|num_hidden|num_encoder|num_decoder)_layers?")  # says how many there are
BYTES = 4  # of a number in memory: all is computed in single precision
SLACK = 1.25  # how many numbers a model may have for each in its files: some that are tied are written once


@dataclass(frozen=True, kw_only=True)
class Header:
    """What the weights of a folder are, without reading one."""

    shapes: Mapping[str, tuple[int, ...]]

    @property
    def numbers(self) -> int:
        """How many there are in all."""
        return sum(math.prod(shape) for shape in self.shapes.values())


def read_header(folder: Path) -> Header:
    """Names and shapes of the weights.

    Raises:
        CheckpointError: there are none, or a file is damaged.
    """
    files = sorted(folder.glob("*.safetensors"))
    shapes: dict[str, tuple[int, ...]] = {}
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


def require_room(header: Header, name: str, most_bytes: int | None) -> None:
    needed = header.numbers * BYTES
    if most_bytes is not None and needed > most_bytes:
        raise CheckpointError(
            f"{name} has {header.numbers / 1e6:,.0f} million weights and needs {needed / 1e9:.1f} GB of memory; "
            f"{most_bytes / 1e9:.1f} GB may be used here."
        )


def require_honest(config: PreTrainedConfig, kind: type[PreTrainedModel], header: Header, name: str) -> None:
    """Refuse a configuration that describes another model than the weights are of.

    Raises:
        CheckpointError: there are more layers than tensors, or many more numbers.
    """
    for key, value in config.to_dict().items():
        if LAYERS.fullmatch(key) and isinstance(value, int) and value > len(header.shapes):
            raise CheckpointError(
                f"config.json of {name} says that {key} is {value:,}; its files hold {len(header.shapes):,} tensors."
            )
    try:
        with torch.device("meta"):
            built = kind(config)
        numbers = sum(parameter.numel() for parameter in built.parameters())
    except Exception as error:  # sizes that do not fit each other fail in as many ways as there are models
        raise CheckpointError(f"config.json of {name} describes no model: {first_line(error)}") from error
    if numbers > SLACK * header.numbers:
        raise CheckpointError(
            f"config.json of {name} describes {numbers:,} weights, but its files hold {header.numbers:,}."
        )


def first_line(error: Exception) -> str:
    """What a library says, in a line."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:300]

"""The sizes in a configuration, compared with limits and with the weights before a model is built."""

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import torch
from torch import nn

from model.files import CheckpointError
from model.messages import first_line
from model.safety.json_files import read_json
from model.safety.weight_files import Header, read_header

__all__ = [
    "numbers_in",
    "read_config_json",
    "require_matching_weights",
    "require_memory",
    "require_plausible_sizes",
]

# Keys for a number of modules, such as num_hidden_layers.
MODULE_COUNTS = re.compile(r"(.*_)?(layers?|groups?|group_num|experts|blocks)")
MAX_MODULES, MAX_NUMBER = 1_000, 10**9
BYTES_PER_WEIGHT = 4  # in memory, all weights are in single precision
MAX_RATIO = 1.25  # of a model's weights to those in its files: tied weights are stored once
SMALL_MODEL = 1 << 26  # weights of a model that may be built before its files are read
MAX_COMPUTED = 1 << 26  # numbers that a small model computes for itself, such as sinusoids and masks


def read_config_json(folder: Path) -> dict[str, object]:
    """Read `config.json` of a folder.

    Raises:
        CheckpointError: it is missing, too large or not a JSON object, or a number in it is too large.
    """
    try:
        values = read_json(folder / "config.json")
    except FileNotFoundError as error:
        raise CheckpointError("{folder} has no config.json, so it is not a checkpoint.", folder=folder.name) from error
    except (OSError, ValueError) as error:
        raise CheckpointError(
            "config.json of {folder} cannot be used: {problem}", folder=folder.name, problem=first_line(error)
        ) from error
    if not isinstance(values, dict):
        raise CheckpointError("config.json of {folder} cannot be used: it is not a JSON object.", folder=folder.name)
    require_possible_sizes(values, folder.name)
    return values


def require_possible_sizes(config: Mapping[str, object], name: str) -> None:
    """Refuse a number that is larger than in any real model.

    Args:
        config: The configuration.
        name: Of the checkpoint.

    Raises:
        CheckpointError: the message names the number and the limit.
    """
    for key, value in numbers_in(config):
        limit = MAX_MODULES if MODULE_COUNTS.fullmatch(key) else MAX_NUMBER
        if not -MAX_NUMBER <= value <= limit:
            raise CheckpointError(
                "In config.json of {name}, {key} is {value}. The largest value that opens is {limit}.",
                name=name,
                key=key,
                value=f"{value:,}",
                limit=f"{limit:,}",
            )


def numbers_in(values: object, key: str = "") -> Iterator[tuple[str, int]]:
    """Every integer in nested JSON values, as (its key, the integer); the key is "" in a list."""
    if isinstance(values, dict):
        for name, value in values.items():
            yield from numbers_in(value, str(name))
    elif isinstance(values, list):
        for value in values:
            yield from numbers_in(value, "")
    elif isinstance(values, int):
        yield key, values


def require_memory(num_weights: int, name: str, max_bytes: int | None) -> None:
    """Refuse a model that needs too much memory.

    Args:
        num_weights: Of the model.
        name: Of the checkpoint.
        max_bytes: How much memory it may use; None for no limit.

    Raises:
        CheckpointError: the message names the memory that it needs and the limit.
    """
    needed = num_weights * BYTES_PER_WEIGHT
    if max_bytes is not None and needed > max_bytes:
        raise CheckpointError(
            "{name} has {num_weights} million weights and needs {needed} GB of memory. The limit here is "
            "{max_bytes} GB. Choose a smaller model.",
            name=name,
            num_weights=f"{num_weights / 1e6:,.0f}",
            needed=f"{needed / 1e9:.1f}",
            max_bytes=f"{max_bytes / 1e9:.1f}",
        )


def require_matching_weights(
    build: Callable[[], nn.Module], config: Mapping[str, object], header: Header, name: str
) -> int:
    """Refuse a configuration that does not describe the model of these weights.

    Args:
        build: Makes the model; called on a device without memory.
        config: The configuration.
        header: Of the weights.
        name: Of the checkpoint.

    Returns:
        How many numbers the model holds in memory.

    Raises:
        CheckpointError: it has more layers than the files have tensors, or many more weights, or no model fits it.
    """
    for key, value in numbers_in(dict(config)):
        if MODULE_COUNTS.fullmatch(key) and not key.startswith("max_") and value > len(header.shapes):
            raise CheckpointError(
                "In the configuration of {name}, {key} is {value}, but its files hold only {shapes} tensors.",
                name=name,
                key=key,
                value=f"{value:,}",
                shapes=f"{len(header.shapes):,}",
            )
    learned, computed = count_numbers(build, name)
    if learned > MAX_RATIO * header.num_weights:
        raise CheckpointError(
            "The configuration of {name} describes {learned} weights, but its files hold {num_weights}.",
            name=name,
            learned=f"{learned:,}",
            num_weights=f"{header.num_weights:,}",
        )
    if computed > max(MAX_COMPUTED, header.num_weights):
        raise CheckpointError(
            "The configuration of {name} describes {computed} numbers that the model computes, such as positions and "
            "masks. The limit for its {num_weights} weights is {limit}. Is max_position_embeddings too large?",
            name=name,
            computed=f"{computed:,}",
            num_weights=f"{header.num_weights:,}",
            limit=f"{max(MAX_COMPUTED, header.num_weights):,}",
        )
    return learned + computed


def count_numbers(build: Callable[[], nn.Module], name: str) -> tuple[int, int]:
    """How many numbers a model learns, and how many it computes for itself; a mask of bytes counts a quarter.

    The model takes no memory here.

    Args:
        build: Makes the model.
        name: Of the checkpoint.

    Raises:
        CheckpointError: the model cannot be built.
    """
    try:
        with torch.device("meta"):
            model = build()
        computed = sum(part.numel() * part.element_size() for part in model.buffers()) // BYTES_PER_WEIGHT
        return sum(part.numel() for part in model.parameters()), computed
    except Exception as error:  # wrong sizes fail in a different way in each model
        raise CheckpointError(
            "The configuration of {name} fits no model: {problem}", name=name, problem=first_line(error)
        ) from error


def require_plausible_sizes(build: Callable[[], nn.Module], config: Mapping[str, object], folder: Path) -> None:
    """Refuse a large model in our own format if its files hold far fewer weights. A small one is checked on loading.

    Args:
        build: Makes the model; called on a device without memory.
        config: Its sizes.
        folder: Of the checkpoint.

    Raises:
        CheckpointError: there are too many layers, or many more weights than in the files.
    """
    require_possible_sizes(config, folder.name)
    if sum(count_numbers(build, folder.name)) > SMALL_MODEL:
        require_matching_weights(build, config, read_header(folder), folder.name)

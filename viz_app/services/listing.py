"""The checkpoints that exist, and what can be read from their files without loading a model.

A key names a checkpoint by its folder and the state of its files. After a new training run the key is another one.
"""

import io
import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pandas as pd

from model.checkpoints.checkpoint import DESCRIPTION, CheckpointError, checkpoint_name, find_checkpoints
from model.config.paths import checkpoint_folders
from model.inference.opening import AnyConfig, read_any_config
from model.safety.folder_files import WEIGHTS
from model.safety.json_files import MAX_CONFIG_BYTES, read_text
from model.safety.weight_files import read_header
from model.text.vocab import NEW_TOKENS
from viz_app.content.cards import ModelCard, read_card
from viz_app.server.server_state import once_per_run, remembered
from viz_app.session.own_checkpoints import own_checkpoints

__all__ = [
    "OUR_FAMILY",
    "TYPICAL_TOKENS",
    "CheckpointKey",
    "Listed",
    "comparable",
    "description_text",
    "figures_of",
    "list_one",
    "listed_checkpoints",
    "model_card",
    "shared_checkpoints",
    "training_history",
]

OUR_FAMILY = "Headlight"
TYPICAL_TOKENS = 100  # of a text of a few sentences


@dataclass(frozen=True)
class CheckpointKey:
    """Names one state of one checkpoint; two of its languages if it has many; how a language model continues a text."""

    path: str
    version: str
    source: str = ""  # language, as the model spells it
    target: str = ""
    new_tokens: int = NEW_TOKENS  # the most that it writes after a text
    chat: bool = False  # it reads each text inside its chat template

    @property
    def model(self) -> "CheckpointKey":
        """The key without what a visitor chose."""
        return CheckpointKey(path=self.path, version=self.version)

    @cached_property
    def name(self) -> str:
        return checkpoint_name(Path(self.path))


@dataclass(frozen=True, kw_only=True)
class Listed:
    """A checkpoint: its configuration, or a sentence that says why it cannot be used."""

    key: CheckpointKey
    config: AnyConfig | None
    problem: str = ""  # a `Message`
    megabytes: float = 0.0


def shared_checkpoints() -> list[Listed]:
    """The checkpoints of this server, which every visitor sees. A job can ask for them too."""
    return [list_one(path) for path in find_checkpoints(checkpoint_folders()).values()]


@once_per_run
def listed_checkpoints() -> list[Listed]:
    """All folders that look like a checkpoint, read again in each run of a page, so that a new one appears at once.

    The visitor's own checkpoints come last. They never hide another checkpoint with the same name.
    """
    found = find_checkpoints(checkpoint_folders())
    return [list_one(path) for path in (found | own_checkpoints() | found).values()]


def comparable(key: CheckpointKey, mine: AnyConfig, listed: Sequence[Listed]) -> dict[str, CheckpointKey]:
    """The checkpoints that can read the same text: first those that write the same language, then those of one type.

    Args:
        key: The checkpoint that they are compared with.
        mine: Its configuration.
        listed: All checkpoints.
    """
    usable = [
        (one.key, one.config)
        for one in listed
        if one.config is not None
        and one.key.path != key.path
        and one.config.task == mine.task
        and mine.tokenizer.source_language in ("", one.config.tokenizer.source_language)
    ]
    usable.sort(
        key=lambda one: (
            one[1].tokenizer.target_language != mine.tokenizer.target_language,
            type(one[1].model) is not type(mine.model),
        )
    )
    return {other.name: other for other, _ in usable}


def list_one(path: Path) -> Listed:
    stats = files_of(path)
    version = "|".join(f"{name}:{stat.st_mtime_ns}:{stat.st_size}" for name, stat in stats)
    key = CheckpointKey(path=str(path), version=version)
    megabytes = sum(stat.st_size for _, stat in stats) / 1e6
    try:
        config = read_once(key)
        if not any(name.endswith(WEIGHTS) for name, _ in stats):
            raise CheckpointError(
                "{name} has no model.safetensors yet. Its training run may still be active.", name=path.name
            )
    except CheckpointError as error:
        return Listed(key=key, config=None, problem=error.message, megabytes=megabytes)
    return Listed(key=key, config=config, megabytes=megabytes)


def files_of(path: Path) -> list[tuple[str, os.stat_result]]:
    """Name and state of each file, without files that a training run is replacing at this moment."""
    found = []
    with suppress(OSError):
        for entry in os.scandir(path):
            with suppress(OSError):
                if entry.is_file() and not entry.name.startswith("."):
                    found.append((entry.name, entry.stat()))
    return sorted(found)


@remembered()
def read_once(key: CheckpointKey) -> AnyConfig:
    return read_any_config(Path(key.path))


@remembered()
def description_text(key: CheckpointKey) -> str | None:
    """The text of `headlight.toml`, or None without one."""
    try:
        return read_text(Path(key.path) / DESCRIPTION, max_bytes=MAX_CONFIG_BYTES)
    except (OSError, ValueError):
        return None


@remembered()
def training_history(key: CheckpointKey, quality: str) -> pd.DataFrame | None:
    """`history.csv`; None if it is missing, damaged or without the column `quality`."""
    try:
        history = pd.read_csv(io.StringIO(read_text(Path(key.path) / "history.csv", max_bytes=MAX_CONFIG_BYTES)))
    except (OSError, ValueError):
        return None
    return history if {"step", "train_loss", "valid_loss", quality} <= set(history.columns) and len(history) else None


@remembered()
def model_card(key: CheckpointKey, language: str) -> ModelCard:
    """The card of a checkpoint, in the language of the visitor if it has one."""
    return read_card(Path(key.path), language)


def figures_of(listed: Listed) -> dict[str, object]:
    """The row of a checkpoint in the table of all: heading → its fact."""
    row: dict[str, object] = {"checkpoint": listed.key.name, "size, MB": listed.megabytes}
    config = listed.config
    if config is None:
        return row
    return row | {
        "task": config.task if getattr(config, "predicts", True) else "encoding",
        "family": getattr(config, "family", OUR_FAMILY),
        "languages": " → ".join(filter(None, (config.tokenizer.source_language, config.tokenizer.target_language))),
        "tokens": config.tokenizer.kind,
        "positions": config.model.positional,
        "layers": f"{config.model.num_encoder_layers} + {getattr(config.model, 'num_decoder_layers', 0)}",
        "heads": config.model.num_heads,
        "parameters": count_parameters(listed.key),
        "memory, MB": 4e-6 * (count_parameters(listed.key) or 0),
        "maps, MB": 4e-6 * TYPICAL_TOKENS**2 * maps_of(config),
        "BLEU": config.bleu,
        "chrF": config.figure("chrf"),
        "accuracy": config.figure("accuracy"),
    }


def maps_of(config: AnyConfig) -> int:
    """How many attention maps a model has: one for each head of each layer."""
    sizes = config.model
    return sizes.num_heads * sum(sizes.num_layers(kind) for kind in sizes.kinds)


@remembered()
def count_parameters(key: CheckpointKey) -> int | None:
    """The numbers in the weights, counted from the header of the file; None if it cannot be read."""
    try:
        return read_header(Path(key.path)).num_weights
    except CheckpointError:
        return None

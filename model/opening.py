"""Open any checkpoint: one of ours, a tutorial's state dict, or a folder of Hugging Face's `transformers`.

The library is imported for its own folders alone.
"""

from pathlib import Path

from model.checkpoint import (
    Checkpoint,
    CheckpointConfig,
    CheckpointError,
    ClassifierCheckpoint,
    load_checkpoint,
    load_classifier,
    read_config,
)
from model.foreign_config import ForeignConfig, is_foreign
from model.state_dict import DESCRIPTION, open_state_dict, read_description

__all__ = ["AnyConfig", "open_checkpoint", "open_translator", "read_any_config"]

AnyConfig = CheckpointConfig | ForeignConfig


def read_any_config(folder: Path) -> AnyConfig:
    """What `config.json` says, without loading the model.

    Raises:
        CheckpointError: it is missing, damaged, or of something that cannot be shown.
    """
    if (folder / DESCRIPTION).exists():
        return read_description(folder)
    if is_foreign(folder):
        from model.foreign.open import read_foreign_config

        return read_foreign_config(folder)
    return read_config(folder)


def open_checkpoint(
    folder: Path, *, device: str = "cpu", most_bytes: int | None = None
) -> Checkpoint | ClassifierCheckpoint:
    """Load a checkpoint for use.

    Args:
        folder: Of a checkpoint.
        device: Where the model is to be.
        most_bytes: Memory that a model which is not ours may take; by default as much as it wants.

    Raises:
        CheckpointError: a file is missing, damaged, or does not fit the others; or there is no room.
    """
    if (folder / DESCRIPTION).exists():
        return open_state_dict(folder, device=device)
    if is_foreign(folder):
        from model.foreign.open import open_foreign

        return open_foreign(folder, device=device, most_bytes=most_bytes)
    if read_config(folder).task == "classification":
        return load_classifier(folder, device=device)
    return load_checkpoint(folder, device=device)


def open_translator(folder: Path, *, device: str = "cpu") -> Checkpoint:
    """As `open_checkpoint`, for what writes.

    Raises:
        CheckpointError: it classifies.
    """
    checkpoint = open_checkpoint(folder, device=device)
    if not isinstance(checkpoint, Checkpoint):
        raise CheckpointError(f"{checkpoint.name} classifies texts and does not translate; choose another checkpoint.")
    return checkpoint

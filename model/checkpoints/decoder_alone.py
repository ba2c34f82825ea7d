"""Opens a decoder without an encoder: a `headlight.toml` with `task = "continuation"`."""

from pathlib import Path

from model.checkpoints.checkpoint import Checkpoint
from model.config.foreign import ForeignConfig
from model.files import CheckpointError

__all__ = ["open_decoder", "read_decoder"]


def read_decoder(folder: Path) -> ForeignConfig:
    """Read the description of a folder without loading its weights.

    Raises:
        CheckpointError: the description is wrong.
    """
    raise CheckpointError("{folder} describes a decoder alone, which does not open yet.", folder=folder.name)


def open_decoder(folder: Path, *, device: str = "cpu", max_bytes: int | None = None) -> Checkpoint:
    """Load a folder whose `headlight.toml` describes a decoder alone.

    Raises:
        CheckpointError: a file is missing, damaged, or does not fit the others.
    """
    raise CheckpointError("{folder} describes a decoder alone, which does not open yet.", folder=folder.name)

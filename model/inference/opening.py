"""Open any checkpoint: one of ours, a tutorial's state dict, or a folder of Hugging Face's `transformers`.

The library is imported for its own folders alone.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from model.checkpoints.checkpoint import (
    DESCRIPTION,
    Checkpoint,
    CheckpointConfig,
    CheckpointError,
    ClassifierCheckpoint,
    load_checkpoint,
    load_classifier,
    read_config,
)
from model.checkpoints.state_dict import open_state_dict, read_description
from model.config.foreign import ForeignConfig, is_foreign
from model.config.search import SearchConfig
from model.decoding.search import finish
from model.inference.classify import classify
from model.inference.reading import record_reading
from model.inference.searching import beginning, search_from
from model.safety.errors import first_line

__all__ = ["AnyConfig", "open_checkpoint", "open_translator", "read_any_config"]

AnyConfig = CheckpointConfig | ForeignConfig
TRIED = ("a", "")  # texts that a checkpoint which we did not make has to take before anybody sees it


def read_any_config(folder: Path) -> AnyConfig:
    """What a checkpoint says of itself, without loading the model.

    Raises:
        CheckpointError: a file is missing, damaged, or of something that cannot be shown.
    """
    with in_a_sentence(folder):
        if (folder / DESCRIPTION).exists():
            return read_description(folder)
        if is_foreign(folder):
            from model.foreign.open import read_foreign_config

            return read_foreign_config(folder)
        return read_config(folder)


def open_checkpoint(
    folder: Path, *, device: str = "cpu", max_bytes: int | None = None
) -> Checkpoint | ClassifierCheckpoint:
    """Load a checkpoint for use.

    Args:
        folder: Of a checkpoint.
        device: Where the model is to be.
        max_bytes: The memory that a model which is not ours may use; no limit by default.

    Raises:
        CheckpointError: a file is missing, damaged, or does not fit the others; or there is no room.
    """
    with in_a_sentence(folder):
        if (folder / DESCRIPTION).exists():
            return tried(open_state_dict(folder, device=device, max_bytes=max_bytes))
        if is_foreign(folder):
            from model.foreign.open import open_foreign

            return tried(open_foreign(folder, device=device, max_bytes=max_bytes))
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
        raise CheckpointError(f"{checkpoint.name} classifies texts and does not translate. Choose another checkpoint.")
    return checkpoint


@contextmanager
def in_a_sentence(folder: Path) -> Iterator[None]:
    """What others wrote may fail in any way; a person reads that it did, and of which checkpoint."""
    try:
        yield
    except CheckpointError:
        raise
    except Exception as error:
        raise CheckpointError(f"{folder.name} cannot be opened: {first_line(error)}") from error


def tried(checkpoint: Checkpoint | ClassifierCheckpoint) -> Checkpoint | ClassifierCheckpoint:
    """The checkpoint, after it took a first step with a short text and with none."""
    for text in TRIED:
        if isinstance(checkpoint, ClassifierCheckpoint):
            classify(checkpoint, text)
        elif checkpoint.config.task == "reading":
            record_reading(checkpoint, text)
        else:
            finish(search_from(beginning(checkpoint, text, limit=1), checkpoint.model, SearchConfig()))
    return checkpoint

"""Open any checkpoint: one of ours, a tutorial's state dict, or a folder of Hugging Face's `transformers`.

That library is imported only for its own folders.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from torch import nn

from model.checkpoints.checkpoint import (
    DESCRIPTION,
    Checkpoint,
    CheckpointConfig,
    CheckpointError,
    ClassifierCheckpoint,
    Loaded,
    load_checkpoint,
    load_classifier,
    read_config,
)
from model.checkpoints.description import read_values
from model.checkpoints.recognition import require_described
from model.config.foreign import ForeignConfig, is_foreign
from model.config.search import SearchConfig
from model.decoding.search import finish
from model.foreign.known_config import read_known_config
from model.foreign.open_tutorial import open_tutorial, read_description
from model.inference.findings import finding_in_model
from model.inference.run import Run
from model.inference.translate import compute, search_input, start_search
from model.messages import first_line
from model.network.protocols import Writes
from model.safety.folder_files import checkpoint_folder, require_whole_files, unused_files
from model.safety.weight_files import files_of_weights
from model.trace import tracing, untraced

__all__ = ["AnyCheckpoint", "AnyConfig", "open_checkpoint", "open_translator", "read_any_config", "read_by"]

AnyCheckpoint = Checkpoint | ClassifierCheckpoint
AnyConfig = CheckpointConfig | ForeignConfig
TRIAL_TEXTS = ("a", "")  # a checkpoint must run on these before a visitor sees it


def read_any_config(folder: Path) -> AnyConfig:
    """Read the configuration of a checkpoint, without its weights.

    Args:
        folder: Of the checkpoint.

    Raises:
        CheckpointError: a file is missing or damaged, or the model cannot be shown.
    """
    with readable_errors(folder):
        folder = described_folder(folder)
        if (folder / DESCRIPTION).exists():
            return read_description(folder)
        if is_foreign(folder):
            if (known := read_known_config(folder)) is not None:
                return known
            from model.foreign.architecture import read_foreign_config

            return read_foreign_config(folder)
        return read_config(folder)


def open_checkpoint(folder: Path, *, device: str = "cpu", max_bytes: int | None = None) -> AnyCheckpoint:
    """Load a checkpoint.

    Args:
        folder: Of the checkpoint.
        device: The device of the model, such as "cpu" or "cuda".
        max_bytes: The memory that a model which is not ours may use; no limit by default.

    Raises:
        CheckpointError: a file is missing or damaged, the files do not fit each other, or the model needs too much
            memory.
    """
    with readable_errors(folder), untraced():
        folder = described_folder(folder)
        checkpoint = examined(load_any(folder, device=device, max_bytes=max_bytes))
        return replace(checkpoint, unused=replace(checkpoint.unused, files=unused_files(folder, read_by(checkpoint))))


def described_folder(folder: Path) -> Path:
    """The folder, or its only subfolder with a checkpoint.

    Raises:
        CheckpointError: there is none, or a file in it is a pointer to another file.
    """
    require_described(folder)
    folder = checkpoint_folder(folder)
    require_whole_files(folder)
    return folder


def load_any(folder: Path, *, device: str, max_bytes: int | None) -> AnyCheckpoint:
    if (folder / DESCRIPTION).exists():
        return open_tutorial(folder, device=device, max_bytes=max_bytes)
    if is_foreign(folder):
        from model.foreign.open import open_foreign

        return open_foreign(folder, device=device, max_bytes=max_bytes)
    if read_config(folder).task == "classification":
        return load_classifier(folder, device=device)
    return load_checkpoint(folder, device=device)


def read_by(checkpoint: Loaded) -> Collection[str]:
    """The names of the files of weights of a checkpoint, and of the files that its description names."""
    if (checkpoint.path / DESCRIPTION).exists():
        return {value for value in read_values(checkpoint.path).values() if isinstance(value, str)}
    return {path.name for path in files_of_weights(checkpoint.path)}


def open_translator(folder: Path, *, device: str = "cpu") -> Checkpoint:
    """As `open_checkpoint`, for every model except classifiers.

    Args:
        folder: Of the checkpoint.
        device: The device of the model.

    Raises:
        CheckpointError: it cannot be opened, or it is a classifier.
    """
    checkpoint = open_checkpoint(folder, device=device)
    if not isinstance(checkpoint, Checkpoint):
        raise CheckpointError(
            "{checkpoint} classifies texts and does not translate. Choose another checkpoint.",
            checkpoint=checkpoint.name,
        )
    return checkpoint


@contextmanager
def readable_errors(folder: Path) -> Iterator[None]:
    """Turn any error of another library into a CheckpointError that names the checkpoint."""
    try:
        yield
    except CheckpointError:
        raise
    except ModuleNotFoundError as error:
        package = str(error.name).partition(".")[0]
        raise CheckpointError(
            "{folder} needs the package {package}, which is not installed. Run `pip install {package}`.",
            folder=folder.name,
            package=package,
        ) from error
    except Exception as error:
        raise CheckpointError(
            "{folder} cannot be opened: {problem}", folder=folder.name, problem=first_line(error)
        ) from error


def examined(checkpoint: AnyCheckpoint) -> AnyCheckpoint:
    """Run one step with each of the `TRIAL_TEXTS`, and note what is not finite."""
    with tracing() as trial:
        for text in TRIAL_TEXTS:
            if isinstance(checkpoint.model, Writes):
                start = search_input(checkpoint.model, checkpoint.tokenizers, text, limit=1)
                finish(start_search(checkpoint.model, start, SearchConfig()))
            else:
                compute(checkpoint, Run(text=text))
    assert isinstance(checkpoint.model, nn.Module)
    return replace(checkpoint, finding=finding_in_model(checkpoint.model, trial))

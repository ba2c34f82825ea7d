"""The folder of a run: whether a run can use it, its lock, and the files that the run writes.

It is the folder of a checkpoint. The folder `training/` in it holds what the run needs to continue.
"""

import csv
import io
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout
from torch import Tensor

from model.checkpoints.checkpoint import (
    WEIGHTS,
    CheckpointConfig,
    CheckpointError,
    read_config,
    snapshot_path,
    write_config,
)
from model.config.model import VOCAB_SIZES
from model.config.recipe import Recipe
from model.config.section import ConfigError, Section
from model.files import remove_leftovers, replace_file, save_weights

__all__ = ["RunFolder"]

# Settings that may change when a run is resumed: its length, its learning rate, and how it is computed.
LENGTH = ("max_epochs", "max_steps", "patience", "average_epochs", "snapshot_steps")
MAY_CHANGE = (
    *LENGTH,
    *("learning_rate", "attention_rate", "warmup_steps", "cooldown_steps", "clip_norm", "precision", "compile"),
)


class RunFolder:
    """The folder of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.training = path / "training"
        self.state = self.training / "state.safetensors"

    def require_fit_for(self, recipe: Recipe, *, resume: bool) -> None:
        """Check whether a run can start here, or can be resumed.

        Raises:
            ConfigError: a new run finds another run or a checkpoint here; or a resumed run finds none, or its recipe
                differs in more than `MAY_CHANGE`.
            CheckpointError: the configuration in the folder cannot be read.
        """
        if resume:
            self._require_run_of(recipe)
        else:
            self._require_new()

    def _require_new(self) -> None:
        if self.state.is_file():
            raise ConfigError(f"{self.path} holds a run already. Continue it with --resume, or choose another --out.")
        if (self.path / WEIGHTS).is_file():
            raise ConfigError(f"{self.path} holds a trained checkpoint already. Choose another --out.")

    def _require_run_of(self, recipe: Recipe) -> None:
        if not self.state.is_file():
            raise ConfigError(f"There is no run to resume in {self.path}. Leave out --resume.")
        begun = read_config(self.path)
        if begun.task != recipe.task:
            raise ConfigError(f"The run in {self.path} is a {begun.task}, but this recipe is a {recipe.task}.")
        sizes = dict.fromkeys(VOCAB_SIZES[recipe.task], recipe.tokenizer.vocab_size)
        changed = [
            *changes("tokenizer", begun.tokenizer, recipe.tokenizer),
            *changes("train", begun.train, recipe.train, but=MAY_CHANGE),
            *changes("model", begun.model, recipe.model_config(**sizes), but=sizes),
        ]
        if changed:
            raise ConfigError(
                f"The run in {self.path} began with another recipe: {'; '.join(changed)}. "
                "Resume it with its own recipe, or choose another --out."
            )

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep other runs out. The system removes the lock when this process ends, even if it is killed.

        Raises:
            ConfigError: another run uses the folder.
            CheckpointError: the folder cannot be written.
        """
        lock = FileLock(self.training / "lock")
        try:
            self.training.mkdir(parents=True, exist_ok=True)
            lock.acquire(timeout=0)
        except Timeout as error:
            raise ConfigError(
                f"Another run is writing into {self.path}. Wait until it ends, or choose another --out."
            ) from error
        except OSError as error:
            raise CheckpointError(f"{self.path} cannot be written: {error.strerror}.") from error
        try:
            yield
        finally:
            lock.release()

    def prepare(self, tokenizer_files: Mapping[str, str], config: CheckpointConfig) -> None:
        """Remove the leftovers of a killed process, and write the files that never change."""
        for folder in (self.path, self.training, self.path / "snapshots"):
            remove_leftovers(folder)
        for name, content in tokenizer_files.items():
            replace_file(self.path / name, content)
        if not (self.path / WEIGHTS).is_file():
            write_config(self.path, config)

    def save_model(self, weights: Mapping[str, Tensor], config: CheckpointConfig) -> None:
        """Replace the checkpoint."""
        save_weights(self.path / WEIGHTS, weights)
        write_config(self.path, config)

    def save_snapshot(self, weights: Mapping[str, Tensor], *, step: int) -> None:
        """Save the weights after a step."""
        save_weights(snapshot_path(self.path, step), weights)

    def write_history(self, rows: Sequence[Mapping[str, float]]) -> None:
        """Write `history.csv`, one line per epoch. The last epoch may be unfinished."""
        text = io.StringIO()
        columns = dict.fromkeys(name for row in rows for name in row)  # an earlier version may have had other columns
        writer = csv.DictWriter(text, list(columns), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        replace_file(self.path / "history.csv", text.getvalue())


def changes(section: str, before: Section, now: Section, *, but: Collection[str] = ()) -> list[str]:
    """Each setting that differs, with both values."""
    first, second = before.to_dict(), now.to_dict()
    return [
        f"{section}.{name} was {first[name]!r} and is now {value!r}"
        for name, value in second.items()
        if name not in but and first[name] != value
    ]

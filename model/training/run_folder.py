"""The folder of a run: whether a run can use it, its lock, its state, and the files that the run writes.

It is the folder of a checkpoint. The folder `training/` in it holds what the run needs to continue: one safetensors
file, replaced as a whole, the weights of recent epochs, and the token ids of the corpus (`tokenized.py`). The file
holds the weights, the optimizer, the progress and the scale of an fp16 loss. All random numbers follow from the seed. A
run can also start from the weights and tokenizers of a checkpoint, so that a long training can be divided into several.
"""

import csv
import io
import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import torch
from filelock import FileLock, Timeout
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from model.checkpoints.checkpoint import (
    WEIGHTS,
    CheckpointConfig,
    CheckpointError,
    read_config,
    snapshot_path,
    write_config,
)
from model.config.model import VOCAB_SIZES, AnyModelConfig
from model.config.recipe import Recipe
from model.config.section import ConfigError, Section, require
from model.files import load_weights, remove_leftovers, replace_file, save_tensors, save_weights

__all__ = [
    "Progress",
    "RunFolder",
    "average_epochs",
    "check_start",
    "copy_weights",
    "epoch_files",
    "load_state",
    "save_epoch",
    "save_state",
    "start_from",
]

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
        begun, trained = self.state.is_file(), (self.path / WEIGHTS).is_file()
        require(
            resume or not begun, f"{self.path} holds a run already. Continue it with --resume, or choose another --out."
        )
        require(resume or not trained, f"{self.path} holds a trained checkpoint already. Choose another --out.")
        require(begun or not resume, f"There is no run to resume in {self.path}. Leave out --resume.")
        if resume:
            self._require_run_of(recipe)

    def _require_run_of(self, recipe: Recipe) -> None:
        begun = read_config(self.path)
        same = begun.task == recipe.task
        require(same, f"The run in {self.path} is a {begun.task}, but this recipe is a {recipe.task}.")
        sizes = dict.fromkeys(VOCAB_SIZES[recipe.task], recipe.tokenizer.vocab_size)
        changed = [
            *changes("tokenizer", begun.tokenizer, recipe.tokenizer),
            *changes("train", begun.train, recipe.train, but=MAY_CHANGE),
            *changes("model", begun.model, recipe.model_config(**sizes), but=sizes),
        ]
        require(
            not changed,
            f"The run in {self.path} began with another recipe: {'; '.join(changed)}. "
            "Resume it with its own recipe, or choose another --out.",
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


@dataclass(kw_only=True)
class Progress:
    """How far a run has come. It is saved with the weights."""

    step: int = 0
    epoch: int = 1
    batches_done: int = 0  # in this epoch
    epoch_loss: float = 0.0  # summed over the items of this epoch, in nats
    epoch_items: int = 0
    epoch_seconds: float = 0.0
    seconds: float = 0.0
    batches_a_step: int = 0  # of all processes together
    files: Mapping[str, str] = field(default_factory=dict)  # see `Task.files`
    best: float = -1.0  # quality on the validation split, see `Task.quality`
    stale_epochs: int = 0
    history: list[dict[str, float]] = field(default_factory=list)

    def count_step(self, *, batches: int, loss: float, items: int, seconds: float) -> None:
        """Add one step of the optimizer; `loss` is summed over the `items`."""
        self.step += 1
        self.batches_done += batches
        self.epoch_loss += loss
        self.epoch_items += items
        self.epoch_seconds += seconds
        self.seconds += seconds

    def begin_epoch(self) -> None:
        self.epoch += 1
        self.batches_done, self.epoch_items = 0, 0
        self.epoch_loss, self.epoch_seconds = 0.0, 0.0

    def row(self, measured: Mapping[str, float], *, rate: float, unit: str) -> dict[str, float]:
        """The line of this epoch in `history.csv`."""
        return {
            "epoch": self.epoch,
            "step": self.step,
            "train_loss": round(self.epoch_loss / self.epoch_items, 5),
            **measured,
            "learning_rate": round(rate, 8),
            f"{unit}_per_second": round(self.epoch_items / self.epoch_seconds),
            "seconds": round(self.seconds, 1),
        }


def copy_weights(model: nn.Module, weights: Mapping[str, Tensor]) -> None:
    """Overwrite the model's parameters. Raises KeyError or RuntimeError if names or shapes differ."""
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])


def save_state(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    progress: Progress,
    *,
    scaler: torch.amp.GradScaler | None = None,
) -> None:
    """Write all that the run needs to continue.

    Args:
        path: The file to replace.
        model: Its parameters are saved in full precision.
        optimizer: Of these parameters.
        progress: How far the run has come.
        scaler: Scales the loss in fp16.
    """
    tensors = {f"model.{name}": p.detach() for name, p in model.named_parameters()}
    for name, parameter in model.named_parameters():
        for key, value in optimizer.state.get(parameter, {}).items():
            tensors[f"adam.{key}.{name}"] = value
    metadata = {"progress": json.dumps(asdict(progress))}
    if scaler is not None:
        metadata["scaler"] = json.dumps(scaler.state_dict())
    save_tensors(path, tensors, metadata=metadata)


def load_state(
    path: Path,
    model: nn.Module,
    optimizer: torch.optim.Optimizer,
    *,
    scaler: torch.amp.GradScaler | None = None,
) -> Progress:
    """Read the file of `save_state` into the model, the optimizer and the scaler.

    Raises:
        ConfigError: the file is damaged, or belongs to a run of another recipe.
    """
    try:
        with safe_open(path, framework="pt") as file:
            # An earlier version kept random numbers.
            names = [name for name in file.offset_keys() if not name.startswith("random.")]
            tensors = {name: file.get_tensor(name) for name in names}
            metadata = file.metadata()
        progress = Progress(**json.loads(metadata["progress"]))
        copy_weights(model, {name: tensors.pop(f"model.{name}") for name, _ in model.named_parameters()})
        for name, parameter in model.named_parameters():
            if progress.step:
                entries = {key: tensors.pop(f"adam.{key}.{name}") for key in ("step", "exp_avg", "exp_avg_sq")}
                optimizer.state[parameter] = {key: value.to(parameter.device) for key, value in entries.items()}
    except (SafetensorError, KeyError, RuntimeError, TypeError, ValueError) as error:
        raise ConfigError(f"{path} does not fit this recipe, or it is damaged: {error}") from error
    require(not tensors, f"{path} holds the tensor {min(tensors, default='')}, which this recipe does not have.")
    if scaler is not None and "scaler" in metadata:
        scaler.load_state_dict(json.loads(metadata["scaler"]))
    return progress


def save_epoch(folder: Path, weights: Mapping[str, Tensor], *, epoch: int, keep: int) -> None:
    """Save the weights of an epoch, and delete all but the `keep` latest epochs."""
    save_tensors(folder / f"epoch-{epoch:04d}.safetensors", weights)
    for old in epoch_files(folder)[:-keep]:
        old.unlink()


def average_epochs(folder: Path) -> dict[str, Tensor]:
    """The mean of the saved epochs, parameter by parameter ("Attention Is All You Need", section 6.1)."""
    files = epoch_files(folder)
    total: dict[str, Tensor] = {}
    for path in files:
        with safe_open(path, framework="pt") as file:
            for name in file.offset_keys():
                tensor = file.get_tensor(name)
                total[name] = total[name] + tensor if name in total else tensor
    return {name: tensor / len(files) for name, tensor in total.items()}


def epoch_files(folder: Path) -> list[Path]:
    return sorted(folder.glob("epoch-*.safetensors"))


MAY_DIFFER = {"dropout", "source_vocab_size", "target_vocab_size", "vocab_size"}  # the tokenizers give the sizes
QUERIES_AND_KEYS = re.compile(r"\.self_attention\.(query|key)_projection\.")


def check_start(folder: Path, recipe: Recipe) -> None:
    """Check whether a recipe can start from a checkpoint, before anything is read or written.

    Raises:
        CheckpointError: the checkpoint cannot be read.
        ConfigError: its task, languages, tokens or sizes differ from the recipe.
    """
    found = read_config(folder)
    same = found.task == recipe.task
    require(same, f"The task of {folder.name} is {found.task}, but the recipe's task is {recipe.task}.")
    names = ("kind", "lowercase")
    require_equal(folder, {n: (getattr(found.tokenizer, n), getattr(recipe.tokenizer, n)) for n in names})
    theirs, mine = ((t.source_language, t.target_language) for t in (found.tokenizer, recipe.tokenizer))
    # With one vocabulary and one embedding matrix for both languages, the opposite direction is a good start too.
    if not (getattr(found.model, "tie_embeddings", "") == "all" and theirs == mine[::-1]):
        require_equal(folder, {"source_language": (theirs[0], mine[0]), "target_language": (theirs[1], mine[1])})
    wanted = recipe.model_config(**{name: getattr(found.model, name) for name in VOCAB_SIZES[found.task]})
    sizes, started = wanted.to_dict(), found.model.to_dict()
    free = {*MAY_DIFFER, "positional"} if becomes_rotary(found.model, wanted) else MAY_DIFFER
    require_equal(folder, {name: (started[name], sizes[name]) for name in sizes if name not in free})


def becomes_rotary(started: AnyModelConfig, wanted: AnyModelConfig) -> bool:
    """Whether a run changes from sinusoidal to rotary positions. Neither is saved, so the weights fit both."""
    return (started.positional, wanted.positional) == ("sinusoidal", "rotary")


@torch.no_grad()
def start_from(folder: Path, model: nn.Module, config: AnyModelConfig) -> None:
    """Copy the weights of a checkpoint. Queries and keys that learned from another kind of positions stay new.

    Raises:
        CheckpointError: the weights are missing, damaged, or belong to another model.
    """
    rotary = becomes_rotary(read_config(folder).model, config)
    kept = {name: p.clone() for name, p in model.named_parameters() if rotary and QUERIES_AND_KEYS.search(name)}
    load_weights(folder / WEIGHTS, model)
    for name, values in kept.items():
        model.get_parameter(name).copy_(values)


def require_equal(folder: Path, values: dict[str, tuple[object, object]]) -> None:
    """Raises ConfigError if a value of the checkpoint differs from the recipe's value."""
    wrong = [
        f"{name} is {theirs!r} there and {mine!r} here" for name, (theirs, mine) in values.items() if theirs != mine
    ]
    require(
        not wrong, f"The recipe cannot start from {folder.name}: {'; '.join(wrong)}. Set the same values with --set."
    )

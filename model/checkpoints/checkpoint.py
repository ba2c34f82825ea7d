"""A checkpoint is a folder with `model.safetensors`, `config.json` and the tokenizer's files. It contains no code.

Weights are saved in half precision. Computation uses single precision.
"""

import copy
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Self, TypeVar

from torch import nn

from model.config.foreign import ForeignConfig
from model.config.model import TASKS, VOCAB_SIZES, AnyModelConfig, ClassifierConfig, config_class
from model.config.run import TrainConfig
from model.config.section import ConfigError
from model.config.tokenizer import TokenizerConfig
from model.files import CheckpointError, load_weights, replace_file
from model.messages import Message
from model.network.classifier import Classifier
from model.network.protocols import Classifies, Reads
from model.network.translators import make_translator
from model.safety.folder_files import places_in
from model.safety.json_files import read_json
from model.safety.sizes import require_plausible_sizes
from model.text.tokenizers import LearnedPair, TokenizerPair, load_pair
from model.text.vocab import PAD_ID

__all__ = [
    "BY_LENGTH",
    "CONFIG",
    "DESCRIPTION",
    "WEIGHTS",
    "Checkpoint",
    "CheckpointConfig",
    "CheckpointError",
    "ClassifierCheckpoint",
    "Unused",
    "at_snapshot",
    "checkpoint_name",
    "find_checkpoints",
    "find_snapshots",
    "load_checkpoint",
    "load_classifier",
    "read_config",
    "snapshot_path",
    "write_config",
]

FORMAT = 1
BY_LENGTH = "bleu_lowercased of words "  # the name of a figure begins with this and ends with the lengths
WEIGHTS, CONFIG, DESCRIPTION = "model.safetensors", "config.json", "headlight.toml"


@dataclass(frozen=True, kw_only=True)
class CheckpointConfig:
    """The contents of `config.json`."""

    recipe: str
    model: AnyModelConfig
    tokenizer: TokenizerConfig
    train: TrainConfig
    task: str = "translation"
    figures: Mapping[str, float] = field(default_factory=dict)  # name of a measured result → value

    def figure(self, name: str) -> float | None:
        """A recorded result, such as `chrf`, on the first test set of this model that has one."""
        places = ("test_2016_flickr", *(f"{corpus}.test" for corpus in self.train.corpora))
        return next((self.figures[f"{place}.{name}"] for place in places if f"{place}.{name}" in self.figures), None)

    @property
    def bleu_by_length(self) -> dict[str, float]:
        """Words of the source → lower-cased BLEU on captions, if `evaluate --by-length --record` recorded it."""
        before = f"test_2016_flickr.{BY_LENGTH}"
        return {name.removeprefix(before): value for name, value in self.figures.items() if name.startswith(before)}

    @property
    def bleu(self) -> float | None:
        """The recorded BLEU on the model's test set, lower-cased if the model lower-cases."""
        return self.figure("bleu_lowercased" if self.tokenizer.lowercase else "bleu")

    def to_dict(self) -> dict[str, object]:
        return {
            "format": FORMAT,
            "task": self.task,
            "recipe": self.recipe,
            "model": self.model.to_dict(),
            "tokenizer": self.tokenizer.to_dict(),
            "train": self.train.to_dict(),
            "figures": dict(self.figures),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Raises ConfigError if a part is missing or invalid."""
        if values.get("format") != FORMAT:
            raise ConfigError(
                "format is {found}. This version of Headlight reads format {known}.",
                found=repr(values.get("format")),
                known=FORMAT,
            )
        missing = {"recipe", "model", "tokenizer", "train"} - set(values)
        if missing:
            raise ConfigError("it has no {missing}.", missing=", ".join(sorted(missing)))
        if not all(isinstance(values[name], Mapping) for name in ("model", "tokenizer", "train")):
            raise ConfigError("`model`, `tokenizer` and `train` must be JSON objects.")
        figures = values.get("figures", {})
        if not isinstance(figures, Mapping) or not all(isinstance(v, int | float) for v in figures.values()):
            raise ConfigError("figures must be a JSON object of numbers.")
        task = values.get("task", "translation")
        if not isinstance(task, str) or task not in TASKS:
            raise ConfigError(
                "task is {task}. This version of Headlight knows {tasks}.", task=repr(task), tasks=", ".join(TASKS)
            )
        return cls(
            recipe=str(values["recipe"]),
            task=task,
            model=config_class(task, values["model"]).from_dict(values["model"]),
            tokenizer=TokenizerConfig.from_dict(values["tokenizer"]),
            train=TrainConfig.from_dict(values["train"]),
            figures=dict(figures),
        )


@dataclass(frozen=True, kw_only=True)
class Unused:
    """What is in the folder of a checkpoint and is not used by its model."""

    files: tuple[str, ...] = ()
    tensors: tuple[str, ...] = ()
    head: str = ""  # the class that config.json names, where the model opens without what this class adds to it

    def __bool__(self) -> bool:
        return bool(self.files or self.tensors or self.head)


@dataclass(frozen=True, kw_only=True)
class Loaded:
    """A loaded checkpoint. Its model is in evaluation mode."""

    path: Path
    config: CheckpointConfig | ForeignConfig
    model: Reads
    tokenizers: TokenizerPair  # for a classifier the same tokenizer twice
    finding: Message | None = None  # what is not finite in the model, see `model/inference/findings.py`
    unused: Unused = Unused()

    @property
    def name(self) -> str:
        return checkpoint_name(self.path)


@dataclass(frozen=True, kw_only=True)
class Checkpoint(Loaded):
    """A loaded translator, language model or reader. A model that is no reader also `Writes`."""


@dataclass(frozen=True, kw_only=True)
class ClassifierCheckpoint(Loaded):
    """A loaded text classifier."""

    model: Classifies


def write_config(folder: Path, config: CheckpointConfig) -> None:
    replace_file(folder / CONFIG, json.dumps(config.to_dict(), indent=2, allow_nan=False) + "\n")


def read_config(folder: Path) -> CheckpointConfig:
    """Read and check `config.json` without loading the model.

    Raises:
        CheckpointError: it is missing, not JSON, or not a configuration of this project.
    """
    try:
        values = read_json(folder / CONFIG)
        if not isinstance(values, dict):
            raise ConfigError("it is not a JSON object.")
        return CheckpointConfig.from_dict(values)
    except FileNotFoundError as error:
        raise CheckpointError(
            "{folder} has no {config}, so it is not a checkpoint of Headlight.", folder=folder.name, config=CONFIG
        ) from error
    except (OSError, ValueError) as error:
        raise CheckpointError(
            "{config} of {folder} cannot be used: {error}", config=CONFIG, folder=folder.name, error=error
        ) from error


def snapshot_path(folder: Path, step: int) -> Path:
    """The file of the weights after `step` steps of the optimizer, if they were saved."""
    return folder / "snapshots" / f"step-{step:06d}.safetensors"


def find_snapshots(folder: Path) -> dict[int, Path]:
    """Step → file of the weights, in the order of the steps."""
    named = [(re.fullmatch(r"step-(\d+)", path.stem), path) for path in folder.glob("snapshots/step-*.safetensors")]
    return dict(sorted((int(match[1]), path) for match, path in named if match))


def at_snapshot(checkpoint: Checkpoint, weights: Path) -> Checkpoint:
    """The same translator with the weights of an earlier step.

    Raises:
        CheckpointError: the weights are missing, damaged, or belong to another model.
    """
    model = copy.deepcopy(checkpoint.model)  # a new model would draw random weights first
    assert isinstance(model, nn.Module)
    load_weights(weights, model)
    return replace(checkpoint, model=model.to("cpu"))


def load_checkpoint(folder: Path, *, device: str = "cpu", weights: Path | None = None) -> Checkpoint:
    """Load a translator for use.

    Args:
        folder: The folder of the checkpoint.
        device: Where the model runs.
        weights: A file with other weights, such as a snapshot of a run that has no checkpoint yet.

    Raises:
        CheckpointError: a file is missing, damaged, or does not fit the others, or the checkpoint is a classifier.
    """
    config = read_config(folder)
    if isinstance(config.model, ClassifierConfig):
        raise CheckpointError(
            "{folder} classifies texts and does not translate. Choose another checkpoint.", folder=folder.name
        )
    tokenizers, build = load_tokenizers(config, folder), partial(make_translator, config.model, pad_id=PAD_ID)
    model = loaded(build, config, folder, weights or folder / WEIGHTS)
    return Checkpoint(path=folder, config=config, model=ready(model, device), tokenizers=tokenizers)


def load_classifier(folder: Path, *, device: str = "cpu") -> ClassifierCheckpoint:
    """Load a text classifier for use.

    Raises:
        CheckpointError: a file is missing, damaged, or does not fit the others, or the checkpoint is not a classifier.
    """
    config = read_config(folder)
    if not isinstance(config.model, ClassifierConfig):
        raise CheckpointError(
            "{folder} translates and does not classify texts. Choose another checkpoint.", folder=folder.name
        )
    if config.train.fill_gaps:
        raise CheckpointError(
            "{folder} has learned to predict hidden words and not to classify. Train a classifier from it with --init.",
            folder=folder.name,
        )
    tokenizers, build = load_tokenizers(config, folder), partial(Classifier, config.model, pad_id=PAD_ID)
    model = loaded(build, config, folder, folder / WEIGHTS)
    return ClassifierCheckpoint(path=folder, config=config, model=ready(model, device), tokenizers=tokenizers)


AnyModel = TypeVar("AnyModel", bound=nn.Module)


def loaded(build: Callable[[], AnyModel], config: CheckpointConfig, folder: Path, weights: Path) -> AnyModel:
    """A model with its weights, if its sizes fit their file."""
    require_plausible_sizes(build, config.model.to_dict(), folder)
    model = build()
    load_weights(weights, model)
    return model


def ready(model: AnyModel, device: str) -> AnyModel:
    """Move a model to its device, set evaluation mode, and store its matrices for fast products with few rows."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            # Column by column. Decoding waits for the weights from memory; this takes a third less time per token.
            module.weight.data = module.weight.data.t().contiguous().t()
    return model.to(device).eval()


def load_tokenizers(config: CheckpointConfig, folder: Path) -> LearnedPair:
    try:
        tokenizers = load_pair(config.tokenizer, folder)
    except ConfigError as error:
        raise CheckpointError(error.message) from error
    for name in VOCAB_SIZES[config.task]:
        side, size = ("target" if name.startswith("target") else "source"), getattr(config.model, name)
        found = getattr(tokenizers, side).size
        if found != size:
            raise CheckpointError(
                "The {side} tokenizer of {folder} has {found} tokens, but config.json says {name} is {size}.",
                side=side,
                folder=folder.name,
                found=found,
                name=name,
                size=size,
            )
    return tokenizers


def checkpoint_name(folder: Path) -> str:
    """The name of a checkpoint: its folder's name, or ORG/NAME for `models--ORG--NAME/snapshots/REVISION`.

    A folder in a package is often called `model`. Then the folder above it has the name.
    """
    return name_of(os.path.abspath(folder))  # "." has no name


@lru_cache(maxsize=1024)
def name_of(path: str) -> str:
    folder = Path(path)
    if folder.parent.name == "snapshots" and folder.parent.parent.name.startswith("models--"):
        return folder.parent.parent.name.removeprefix("models--").replace("--", "/")
    return folder.parent.name if folder.name == "model" and folder.parent.name else folder.name


def find_checkpoints(folders: Iterable[Path]) -> dict[str, Path]:
    """Name → folder of every checkpoint inside the given folders, see `places_in`. The first one of a name counts.

    In a folder with the layout of Hugging Face's cache, the snapshot that changed last counts.
    """
    found: dict[str, Path] = {}
    for folder in folders:
        cached = sorted(folder.glob(f"models--*/snapshots/*/{CONFIG}"), key=lambda path: -path.lstat().st_mtime)
        for place in (*places_in(folder), *(config.parent for config in cached)):
            found.setdefault(checkpoint_name(place), place)
    return found

"""From arguments of the command line to folders, checkpoints, texts and search settings."""

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from model.checkpoints.checkpoint import (
    Checkpoint,
    CheckpointError,
    ClassifierCheckpoint,
    Loaded,
    Unused,
    find_checkpoints,
)
from model.config.foreign import ForeignConfig, is_foreign
from model.config.paths import checkpoint_folders
from model.config.search import SearchConfig
from model.config.section import ConfigError
from model.inference.opening import open_checkpoint, open_translator
from model.inference.translate import translate, translate_lines
from model.messages import few
from model.network.device import pick_device
from model.text.cleaning import cleaning_note

__all__ = [
    "MOST_NAMES",
    "USUAL_BEAM",
    "classifier_of",
    "folder_at",
    "note",
    "note_cleaning",
    "note_unused",
    "own_folder_at",
    "refuse",
    "require_training_packages",
    "search_settings",
    "texts_of",
    "translator_of",
    "with_note",
    "written_for",
]

AnyCheckpoint = TypeVar("AnyCheckpoint", Checkpoint, ClassifierCheckpoint, Checkpoint | ClassifierCheckpoint)
USUAL_BEAM = 5
MOST_NAMES = 5  # of files or weights in a line
SAMPLING = ("temperature", "top_k", "top_p", "seed")  # options that need --sample
TRAINING_PACKAGES = ("accelerate", "filelock", "sacremoses")  # the extra `training` of pyproject.toml


def require_training_packages() -> None:
    """Raises ConfigError if a package is missing that only training and evaluation need."""
    missing = [name for name in TRAINING_PACKAGES if find_spec(name) is None]
    if missing:
        raise ConfigError(
            f"Training and evaluation need packages that are not installed: {', '.join(missing)}. "
            f"Run: pip install {' '.join(missing)}"
        )


def folder_at(name: str) -> Path:
    """The folder of a checkpoint: `name` is a path, or the name of a checkpoint in one of `checkpoint_folders`.

    Raises:
        CheckpointError: there is no such checkpoint.
    """
    if Path(name).is_dir():
        return Path(os.path.abspath(name))  # "." has no name
    found = find_checkpoints(checkpoint_folders())
    if name in found:
        return found[name]
    if Path(name).exists():
        raise CheckpointError(
            f"{name!r} is a file, and a checkpoint is a folder. Give the path of the folder that holds the weights, "
            "the tokenizer, and config.json or headlight.toml. Unpack an archive first."
        )
    raise CheckpointError(
        f"There is no checkpoint {name!r}. Choose one of these: {', '.join(found) or 'none'}. Or give the path of a "
        "folder."
    )


def refuse(args: argparse.Namespace, names: Iterable[str], sentence: str) -> None:
    """Refuse options that the command would ignore.

    Args:
        args: Options that were not typed are None, False or absent.
        names: The options that have no effect here.
        sentence: Why, and what to do, with `{option}` for the option as it was typed.

    Raises:
        ConfigError: one of the options was typed.
    """
    for name in names:
        value = getattr(args, name, None)
        if value is not None and value is not False:
            typed = f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}")
            raise ConfigError(sentence.format(option=typed))


def search_settings(args: argparse.Namespace, *, usual_beam: int = USUAL_BEAM) -> SearchConfig:
    """The search settings that the options describe.

    Raises:
        ConfigError: a value is out of range, or an option has no effect on this search.
    """
    if getattr(args, "sample", False):
        refuse(args, ["beam"], "{option} has no effect with --sample. Leave out one of the two.")
        typed = {name: getattr(args, name) for name in SAMPLING}
        return SearchConfig(method="sample", **{name: value for name, value in typed.items() if value is not None})
    refuse(args, SAMPLING, "{option} has no effect without --sample. Add --sample, or leave it out.")
    width = args.beam or usual_beam
    return SearchConfig(method="beam", beam_size=width) if width > 1 else SearchConfig()


def note_unused(unused: Unused) -> None:
    """Name on the standard error what is in the folder of a checkpoint and is not used."""
    if unused.tensors:
        added = f" that {unused.head} adds" if unused.head else ""
        print(f"Weights{added} are not used: {few(unused.tensors, MOST_NAMES)}", file=sys.stderr)
    if unused.files:
        print(f"Files are not used: {few(unused.files, MOST_NAMES)}", file=sys.stderr)


def translator_of(args: argparse.Namespace) -> Checkpoint:
    """The checkpoint that the arguments name, see `with_note`."""
    device = str(pick_device(getattr(args, "device", "cpu")))
    return with_note(open_translator(folder_at(args.checkpoint), device=device))


def classifier_of(args: argparse.Namespace) -> ClassifierCheckpoint:
    checkpoint = with_note(open_checkpoint(folder_at(args.checkpoint), device=str(pick_device(args.device))))
    if not isinstance(checkpoint, ClassifierCheckpoint):
        raise CheckpointError(f"{checkpoint.name} does not classify texts. Choose another checkpoint.")
    return checkpoint


def with_note(checkpoint: AnyCheckpoint) -> AnyCheckpoint:
    """The checkpoint; what is not finite in it, and what of its folder is not used, is noted on the standard error."""
    if checkpoint.finding:
        note(checkpoint.finding)
    note_unused(checkpoint.unused)
    return checkpoint


def own_folder_at(name: str, purpose: str) -> Path:
    """The folder of a checkpoint that Headlight trained. Only these have a record of their training.

    Args:
        name: See `folder_at`.
        purpose: The subject of the sentence "… needs a checkpoint that was trained with Headlight."

    Raises:
        CheckpointError: there is no such checkpoint, or another library made it.
    """
    folder = folder_at(name)
    if is_foreign(folder):
        raise CheckpointError(
            f"{folder.name} is a folder of Hugging Face's transformers. It has no record of its training. {purpose} "
            "needs a checkpoint that was trained with Headlight."
        )
    return folder


def written_for(checkpoint: Checkpoint, lines: Sequence[str], search: SearchConfig) -> list[str]:
    """What the model writes for each line: its translation, its continuation, or the line with its masks filled."""
    if checkpoint.config.task == "translation":
        return translate_lines(checkpoint.model, checkpoint.tokenizers, lines, search=search)
    return [translate(checkpoint, line, search=search).text for line in lines]


def texts_of(args: argparse.Namespace) -> Iterator[str]:
    """The texts in the arguments, or the lines of the standard input."""
    return iter(args.texts) if args.texts else (line.rstrip("\n") for line in sys.stdin)


def note_cleaning(checkpoint: Loaded, texts: Sequence[str]) -> None:
    """Say on the standard error what is changed in texts before the model reads them, and what it cannot read, once."""
    for part in dict.fromkeys(part for text in texts for part in checkpoint.tokenizers.source.encode(text).left_out):
        note(f"The vocabulary of this model does not have {part!r}. It was left out.")
    if not isinstance(checkpoint.config, ForeignConfig):
        for sentence in dict.fromkeys(filter(None, map(cleaning_note, texts))):
            note(sentence)


def note(sentence: str) -> None:
    """Print a note on the standard error."""
    print(f"Note: {sentence}", file=sys.stderr)

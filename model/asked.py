"""What the arguments of the command line name: folders, checkpoints, and how to search."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from model.checkpoint import (
    Checkpoint,
    CheckpointError,
    ClassifierCheckpoint,
    find_checkpoints,
)
from model.config import SearchConfig
from model.device import pick_device
from model.foreign_config import is_foreign
from model.inference.translate import translate, translate_lines
from model.opening import open_checkpoint, open_translator
from model.places import checkpoint_folders

__all__ = ["classifier_of", "folder_at", "own_folder_at", "search_settings", "translator_of", "written_for"]


def folder_at(name: str) -> Path:
    """A folder, or the name of a checkpoint in one of `checkpoint_folders`."""
    if Path(name).is_dir():
        return Path(name)
    found = find_checkpoints(checkpoint_folders())
    if name in found:
        return found[name]
    raise CheckpointError(
        f"There is no checkpoint {name!r}. There are: {', '.join(found) or 'none'}; or give the path of a folder."
    )


def search_settings(args: argparse.Namespace) -> SearchConfig:
    if getattr(args, "sample", False):
        return SearchConfig(
            method="sample", temperature=args.temperature, top_k=args.top_k, top_p=args.top_p, seed=args.seed
        )
    return SearchConfig(method="beam", beam_size=args.beam) if args.beam > 1 else SearchConfig()


def translator_of(args: argparse.Namespace) -> Checkpoint:
    return open_translator(folder_at(args.checkpoint), device=str(pick_device(args.device)))


def classifier_of(args: argparse.Namespace) -> ClassifierCheckpoint:
    checkpoint = open_checkpoint(folder_at(args.checkpoint), device=str(pick_device(args.device)))
    if not isinstance(checkpoint, ClassifierCheckpoint):
        raise CheckpointError(f"{checkpoint.name} does not classify texts; choose another checkpoint.")
    return checkpoint


def own_folder_at(name: str, purpose: str) -> Path:
    """As `folder_at`, of a checkpoint that Headlight trained, which alone has a record of its training.

    Raises:
        CheckpointError: there is none of that name, or another library made it.
    """
    folder = folder_at(name)
    if is_foreign(folder):
        raise CheckpointError(
            f"{folder.name} is a folder of Hugging Face's transformers, without a record of its training. {purpose} "
            "needs a checkpoint that was trained with Headlight."
        )
    return folder


def written_for(checkpoint: Checkpoint, lines: Sequence[str], search: SearchConfig) -> list[str]:
    """What is written for each line: its translation, its continuation, or itself with what was masked."""
    if checkpoint.config.task == "translation":
        return translate_lines(checkpoint.model, checkpoint.tokenizers, lines, search=search)
    return [translate(checkpoint, line, search=search).text for line in lines]

"""What the arguments of the command line name: folders, checkpoints, and how to search."""

import argparse
from collections.abc import Sequence
from pathlib import Path

from model.checkpoint import (
    Checkpoint,
    CheckpointError,
    ClassifierCheckpoint,
    find_checkpoints,
    load_classifier,
)
from model.config import SearchConfig
from model.device import pick_device
from model.inference.translate import translate, translate_lines
from model.opening import open_translator
from model.places import checkpoint_folders

__all__ = ["classifier_of", "folder_at", "search_settings", "translator_of", "written_for"]


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
    return load_classifier(folder_at(args.checkpoint), device=str(pick_device(args.device)))


def written_for(checkpoint: Checkpoint, lines: Sequence[str], search: SearchConfig) -> list[str]:
    """What is written for each line: its translation, its continuation, or itself with what was masked."""
    if checkpoint.config.task == "translation":
        return translate_lines(checkpoint.model, checkpoint.tokenizers, lines, search=search)
    return [translate(checkpoint, line, search=search).text for line in lines]

"""Starts a run from the weights and the tokenizers of a checkpoint, so that a long training can be had in several."""

import re
from pathlib import Path

import torch
from torch import nn

from model.checkpoints.checkpoint import WEIGHTS, read_config
from model.config.model import AnyModelConfig
from model.config.recipe import Recipe
from model.config.section import ConfigError
from model.files import load_weights

__all__ = ["check_start", "start_from"]

FREE = {"dropout", "source_vocab_size", "target_vocab_size", "vocab_size"}  # the tokenizers bring the latter along
COMPARING = re.compile(r"\.self_attention\.(query|key)_projection\.")


def check_start(folder: Path, recipe: Recipe) -> None:
    """See whether a recipe can go on from a checkpoint, before anything is read or written.

    Raises:
        CheckpointError: the checkpoint cannot be read.
        ConfigError: its task, languages, tokens or sizes are not those of the recipe.
    """
    found = read_config(folder)
    if found.task != recipe.task:
        raise ConfigError(f"{folder.name} is a checkpoint of {found.task}, but the recipe's task is {recipe.task}.")
    names = ("kind", "lowercase")
    differ(folder, {n: (getattr(found.tokenizer, n), getattr(recipe.tokenizer, n)) for n in names})
    theirs, mine = ((t.source_language, t.target_language) for t in (found.tokenizer, recipe.tokenizer))
    # One vocabulary for both languages, and one matrix of embeddings, are as good a start for the other direction.
    if not (getattr(found.model, "tie_embeddings", "") == "all" and theirs == mine[::-1]):
        differ(folder, {"source_language": (theirs[0], mine[0]), "target_language": (theirs[1], mine[1])})
    wanted = recipe.model_config(**{n: v for n, v in found.model.to_dict().items() if n.endswith("vocab_size")})
    sizes, started = wanted.to_dict(), found.model.to_dict()
    free = {*FREE, "positional"} if begins_to_turn(found.model, wanted) else FREE
    differ(folder, {name: (started[name], sizes[name]) for name in sizes if name not in free})


def begins_to_turn(started: AnyModelConfig, wanted: AnyModelConfig) -> bool:
    """Neither of the two stores positions, so the weights of the one can go on with those of the other."""
    return (started.positional, wanted.positional) == ("sinusoidal", "rotary")


@torch.no_grad()
def start_from(folder: Path, model: nn.Module, config: AnyModelConfig) -> None:
    """Copy the weights of a checkpoint; what learned to compare by positions of another kind is not taken.

    Raises:
        CheckpointError: its weights are missing, damaged, or made for another model.
    """
    turns = begins_to_turn(read_config(folder).model, config)
    kept = {name: p.clone() for name, p in model.named_parameters() if turns and COMPARING.search(name)}
    load_weights(folder / WEIGHTS, model)
    for name, values in kept.items():
        model.get_parameter(name).copy_(values)


def differ(folder: Path, values: dict[str, tuple[object, object]]) -> None:
    """Raise ConfigError for pairs of the checkpoint's and the recipe's values that are not alike."""
    wrong = [
        f"{name} is {theirs!r} there and {mine!r} here" for name, (theirs, mine) in values.items() if theirs != mine
    ]
    if wrong:
        raise ConfigError(
            f"The recipe cannot start from {folder.name}: {'; '.join(wrong)}. Give it the same with --set."
        )

"""Starts a run from the weights and tokenizers of a checkpoint, so that a long training can be divided into several."""

import re
from pathlib import Path

import torch
from torch import nn

from model.checkpoints.checkpoint import WEIGHTS, read_config
from model.config.model import VOCAB_SIZES, AnyModelConfig
from model.config.recipe import Recipe
from model.config.section import ConfigError
from model.files import load_weights

__all__ = ["check_start", "start_from"]

MAY_DIFFER = {"dropout", "source_vocab_size", "target_vocab_size", "vocab_size"}  # the tokenizers give the sizes
QUERIES_AND_KEYS = re.compile(r"\.self_attention\.(query|key)_projection\.")


def check_start(folder: Path, recipe: Recipe) -> None:
    """Check whether a recipe can start from a checkpoint, before anything is read or written.

    Raises:
        CheckpointError: the checkpoint cannot be read.
        ConfigError: its task, languages, tokens or sizes differ from the recipe.
    """
    found = read_config(folder)
    if found.task != recipe.task:
        raise ConfigError(f"The task of {folder.name} is {found.task}, but the recipe's task is {recipe.task}.")
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
    if wrong:
        raise ConfigError(
            f"The recipe cannot start from {folder.name}: {'; '.join(wrong)}. Set the same values with --set."
        )

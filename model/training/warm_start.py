"""Starts a run from the weights and the tokenizers of a checkpoint, so that a long training can be had in several."""

from pathlib import Path

from model.checkpoint import read_config
from model.config import ConfigError
from model.recipe import Recipe

__all__ = ["check_start"]

FREE = {"dropout", "source_vocab_size", "target_vocab_size", "vocab_size"}  # the tokenizers bring the latter along


def check_start(folder: Path, recipe: Recipe) -> None:
    """See whether a recipe can go on from a checkpoint, before anything is read or written.

    Raises:
        CheckpointError: the checkpoint cannot be read.
        ConfigError: its task, languages, tokens or sizes are not those of the recipe.
    """
    found = read_config(folder)
    if found.task != recipe.task:
        raise ConfigError(f"{folder.name} is a checkpoint of {found.task}, but the recipe's task is {recipe.task}.")
    names = ("kind", "source_language", "target_language", "lowercase")
    differ(folder, {n: (getattr(found.tokenizer, n), getattr(recipe.tokenizer, n)) for n in names})
    wanted = recipe.model_config(**{n: v for n, v in found.model.to_dict().items() if n.endswith("vocab_size")})
    mine, theirs = wanted.to_dict(), found.model.to_dict()
    differ(folder, {name: (theirs[name], mine[name]) for name in mine if name not in FREE})


def differ(folder: Path, values: dict[str, tuple[object, object]]) -> None:
    """Raise ConfigError for pairs of the checkpoint's and the recipe's values that are not alike."""
    wrong = [
        f"{name} is {theirs!r} there and {mine!r} here" for name, (theirs, mine) in values.items() if theirs != mine
    ]
    if wrong:
        raise ConfigError(
            f"The recipe cannot start from {folder.name}: {'; '.join(wrong)}. Give it the same with --set."
        )

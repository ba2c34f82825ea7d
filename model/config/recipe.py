"""Recipes: the tokenizer, the training and the sizes of one checkpoint to train, read from a commented TOML file."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self

from model.config.model import TASKS, VOCAB_SIZES, AnyModelConfig, ClassifierConfig, RecurrentConfig, sizes_of
from model.config.run import TrainConfig
from model.config.section import ConfigError, require
from model.config.tokenizer import TokenizerConfig

__all__ = ["Recipe", "load_recipe"]

RECIPES = Path(__file__).parents[1] / "recipes"


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """One checkpoint to train: its tokenizer, its training, and the model's sizes (vocabularies come later)."""

    name: str
    tokenizer: TokenizerConfig
    train: TrainConfig
    model: Mapping[str, Any]
    task: str = "translation"

    def __post_init__(self) -> None:
        require(self.task in TASKS, f"task is {self.task!r}; it must be one of {', '.join(map(repr, TASKS))}.")
        has_target = bool(self.tokenizer.target_language)
        require(
            has_target == (self.task == "translation"), "target_language belongs to a translation, and to it alone."
        )
        resegments = self.tokenizer.kind == "bpe" and has_target
        require(resegments or not self.train.bpe_dropout, 'bpe_dropout needs a translation with kind = "bpe".')
        require(not (has_target and self.train.word_dropout), "word_dropout belongs to a classification.")
        require(not (has_target and self.train.fill_gaps), "fill_gaps belongs to a classification.")
        require(
            self.train.word_dropout > 0 or not self.train.fill_gaps,
            f"fill_gaps needs gaps, but word_dropout is {self.train.word_dropout}; 0.2 is usual.",
        )
        require(has_target or not self.train.pretrain_corpus, "pretrain_corpus belongs to a translation.")
        for name in VOCAB_SIZES[self.task]:
            remedy = "vocab_size" if self.tokenizer.kind == "bpe" else "min_freq"
            require(
                name not in self.model,
                f"{name} is counted when the vocabulary is learned and cannot be set; set tokenizer.{remedy} instead.",
            )
        size = self.tokenizer.vocab_size
        model = self.model_config(**dict.fromkeys(VOCAB_SIZES[self.task], size))
        attends = not isinstance(model, RecurrentConfig)
        require(attends or self.train.attention_rate == 1, "attention_rate needs self-attention, which a GRU has not.")
        if isinstance(model, ClassifierConfig):
            require(len(model.labels) == 2, f"labels are {list(model.labels)}; what there is to learn from has two.")

    def model_config(self, **vocab_sizes: int) -> AnyModelConfig:
        """The model's configuration, once the sizes of the vocabularies are known.

        Raises:
            ConfigError: the sizes contradict each other.
        """
        return sizes_of(self.task, self.model).from_dict(vocab_sizes | dict(self.model))

    def with_settings(self, settings: Mapping[str, Any]) -> Self:
        """Return a copy with `section.name` or plain `name` settings replaced.

        Raises:
            ConfigError: no section has such a setting.
        """
        sections = {"tokenizer": self.tokenizer.to_dict(), "train": self.train.to_dict(), "model": dict(self.model)}
        known = {"tokenizer": TokenizerConfig, "train": TrainConfig, "model": sizes_of(self.task, self.model)}
        for key, value in settings.items():
            wanted, _, name = key.rpartition(".")
            homes = [s for s, kind in known.items() if wanted in ("", s) and name in {f.name for f in fields(kind)}]
            require(bool(homes), f"No recipe section has a setting {key!r}.")
            sections[homes[0]][name] = value
        return replace(
            self,
            tokenizer=TokenizerConfig.from_dict(sections["tokenizer"]),
            train=TrainConfig.from_dict(sections["train"]),
            model=sections["model"],
        )


def load_recipe(name: str) -> Recipe:
    """Read a recipe by the name of a bundled one or by the path of a TOML file.

    Raises:
        ConfigError: there is no such recipe, or it is not valid.
    """
    path = Path(name) if name.endswith(".toml") else RECIPES / f"{name}.toml"
    if not path.is_file():
        bundled = ", ".join(sorted(p.stem for p in RECIPES.glob("*.toml")))
        raise ConfigError(f"There is no recipe {name!r}. Bundled: {bundled}; or give the path of a .toml file.")
    try:
        values = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path.name} is not valid TOML: {error}") from error
    missing = {"tokenizer", "train", "model"} - set(values)
    require(not missing, f"{path.name} lacks the section {', '.join(sorted(missing))}.")
    return Recipe(
        name=path.stem,
        tokenizer=TokenizerConfig.from_dict(values["tokenizer"]),
        train=TrainConfig.from_dict(values["train"]),
        model=values["model"],
        task=values.get("task", "translation"),
    )

"""Recipes: the settings of one checkpoint to train, read from a commented TOML file."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Self

from model.config.model import TASKS, VOCAB_SIZES, AnyModelConfig, ClassifierConfig, RecurrentConfig, config_class
from model.config.run import TrainConfig
from model.config.section import ConfigError, require
from model.config.tokenizer import TokenizerConfig
from model.safety.json_files import MAX_CONFIG_BYTES, read_text

__all__ = ["Recipe", "load_recipe"]

RECIPES = Path(__file__).parents[1] / "recipes"


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """The settings of one checkpoint to train."""

    name: str
    tokenizer: TokenizerConfig
    train: TrainConfig
    model: Mapping[str, object]  # the sizes of the model, without those of the vocabularies, which are learned later
    task: str = "translation"  # one of `TASKS`

    def __post_init__(self) -> None:
        """Refuse a setting that the task, the tokenizer or the model does not support."""
        train, language, kind = self.train, self.tokenizer.target_language, self.tokenizer.kind
        require(self.task in TASKS, f"task is {self.task!r}; it must be one of {', '.join(map(repr, TASKS))}.")
        translates = self.task == "translation"
        require(bool(language) or not translates, "target_language is missing; a translation needs one.")
        require(
            translates or not language,
            f"target_language is {language!r}, but the task is {self.task}. Only a translation has a target language.",
        )
        require(
            not train.bpe_dropout or (translates and kind == "bpe"),
            f'bpe_dropout is {train.bpe_dropout}; it works only for a translation with tokenizer.kind = "bpe".',
        )
        for name, value in (("word_dropout", train.word_dropout), ("fill_gaps", train.fill_gaps)):
            require(not (translates and value), f"{name} is {value}; it works only for a classification.")
        require(
            train.word_dropout > 0 or not train.fill_gaps,
            f"fill_gaps needs hidden words, but word_dropout is {train.word_dropout}. A usual value is 0.2.",
        )
        require(
            translates or not train.pretrain_corpus,
            f"pretrain_corpus is {train.pretrain_corpus!r}; it works only for a translation.",
        )
        for name in VOCAB_SIZES[self.task]:
            remedy = "vocab_size" if kind == "bpe" else "min_freq"
            require(
                name not in self.model,
                f"{name} cannot be set: it is counted after the vocabulary is learned. Set tokenizer.{remedy} instead.",
            )
        sizes = self.model_config(**dict.fromkeys(VOCAB_SIZES[self.task], self.tokenizer.vocab_size))
        require(
            sizes.positional != "table",
            "positional is 'table', but a model that is trained from the start has no table. Use 'learned'.",
        )
        require(
            train.attention_rate == 1 or not isinstance(sizes, RecurrentConfig),
            f"attention_rate is {train.attention_rate}, but a recurrent network has no self-attention. Set it to 1.",
        )
        if isinstance(sizes, ClassifierConfig):
            labels = list(sizes.labels)
            require(len(labels) == 2, f"labels are {labels}; the corpora for classifiers have two.")

    def model_config(self, **vocab_sizes: int) -> AnyModelConfig:
        """The configuration of the model.

        Args:
            **vocab_sizes: The sizes of the learned vocabularies; see `VOCAB_SIZES`.

        Raises:
            ConfigError: the sizes contradict each other.
        """
        return config_class(self.task, self.model).from_dict(vocab_sizes | dict(self.model))

    def with_settings(self, settings: Mapping[str, object]) -> Self:
        """Return a copy with other settings.

        Args:
            settings: Name → value. A name may include its section, such as `train.seed`.

        Raises:
            ConfigError: no section has such a setting, or a value is wrong.
        """
        sections = {"tokenizer": self.tokenizer.to_dict(), "train": self.train.to_dict(), "model": dict(self.model)}
        classes = {"tokenizer": TokenizerConfig, "train": TrainConfig, "model": config_class(self.task, self.model)}
        for key, value in settings.items():
            section, _, name = key.rpartition(".")
            matching = [s for s, c in classes.items() if section in ("", s) and name in {f.name for f in fields(c)}]
            require(bool(matching), f"No section of a recipe has a setting {key!r}.")
            sections[matching[0]][name] = value
        return type(self).of(self.name, {"task": self.task, **sections})

    @classmethod
    def of(cls, name: str, sections: Mapping[str, Any]) -> Self:
        """The recipe with these sections."""
        return cls(
            name=name,
            tokenizer=TokenizerConfig.from_dict(sections["tokenizer"]),
            train=TrainConfig.from_dict(sections["train"]),
            model=sections["model"],
            task=sections.get("task", "translation"),
        )


def load_recipe(name: str) -> Recipe:
    """Read a recipe.

    Args:
        name: Of a bundled recipe, or the path of a TOML file.

    Raises:
        ConfigError: there is no such recipe, or it is not valid.
    """
    path = Path(name) if name.endswith(".toml") else RECIPES / f"{name}.toml"
    if not path.is_file():
        bundled = ", ".join(sorted(p.stem for p in RECIPES.glob("*.toml")))
        raise ConfigError(f"There is no recipe {name!r}. Choose one of {bundled}, or give the path of a .toml file.")
    try:
        values = tomllib.loads(read_text(path, max_bytes=MAX_CONFIG_BYTES))
    except ValueError as error:
        raise ConfigError(f"{path.name} is not valid TOML: {error}") from error
    missing = {"tokenizer", "train", "model"} - set(values)
    require(not missing, f"These sections are missing in {path.name}: {', '.join(sorted(missing))}.")
    return Recipe.of(path.stem, values)

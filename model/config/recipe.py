"""Recipes: the settings of one checkpoint to train, read from a commented TOML file."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Self

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
        require(
            self.task in TASKS,
            "task is {task}; it must be one of {tasks}.",
            task=repr(self.task),
            tasks=", ".join(map(repr, TASKS)),
        )
        self.require_settings_of_the_task()
        for name in VOCAB_SIZES[self.task]:
            remedy = "vocab_size" if self.tokenizer.kind == "bpe" else "min_freq"
            require(
                name not in self.model,
                "{name} cannot be set: it is counted after the vocabulary is learned. Set tokenizer.{remedy} instead.",
                name=name,
                remedy=remedy,
            )
        size = self.tokenizer.vocab_size
        model = self.model_config(**dict.fromkeys(VOCAB_SIZES[self.task], size))
        require(
            getattr(model, "positional", "") != "table",
            "positional is 'table', but a model that is trained from the start has no table. Use 'learned'.",
        )
        rate = self.train.attention_rate
        require(
            rate == 1 or not isinstance(model, RecurrentConfig),
            "attention_rate is {rate}, but a recurrent network has no self-attention. Set it to 1.",
            rate=rate,
        )
        if isinstance(model, ClassifierConfig):
            require(
                len(model.labels) == 2,
                "labels are {labels}; the corpora for classifiers have two.",
                labels=list(model.labels),
            )

    def require_settings_of_the_task(self) -> None:
        """Refuse a setting that the task or the tokenizer does not support.

        Raises:
            ConfigError: the message names the setting and the remedy.
        """
        train, language = self.train, self.tokenizer.target_language
        translates = self.task == "translation"
        require(bool(language) or not translates, "target_language is missing; a translation needs one.")
        require(
            translates or not language,
            "target_language is {language}, but the task is {task}. Only a translation has a target language.",
            language=repr(language),
            task=self.task,
        )
        require(
            not train.bpe_dropout or (translates and self.tokenizer.kind == "bpe"),
            'bpe_dropout is {bpe_dropout}; it works only for a translation with tokenizer.kind = "bpe".',
            bpe_dropout=train.bpe_dropout,
        )
        for name in ("word_dropout", "fill_gaps"):
            value = getattr(train, name)
            require(
                not (translates and value),
                "{name} is {value}; it works only for a classification.",
                name=name,
                value=value,
            )
        require(
            train.word_dropout > 0 or not train.fill_gaps,
            "fill_gaps needs hidden words, but word_dropout is {word_dropout}. A usual value is 0.2.",
            word_dropout=train.word_dropout,
        )
        require(
            translates or not train.pretrain_corpus,
            "pretrain_corpus is {pretrain_corpus}; it works only for a translation.",
            pretrain_corpus=repr(train.pretrain_corpus),
        )

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
            require(bool(matching), "No section of a recipe has a setting {key}.", key=repr(key))
            sections[matching[0]][name] = value
        return replace(
            self,
            tokenizer=TokenizerConfig.from_dict(sections["tokenizer"]),
            train=TrainConfig.from_dict(sections["train"]),
            model=sections["model"],
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
        raise ConfigError(
            "There is no recipe {name}. Choose one of {bundled}, or give the path of a .toml file.",
            name=repr(name),
            bundled=bundled,
        )
    try:
        values = tomllib.loads(read_text(path, max_bytes=MAX_CONFIG_BYTES))
    except ValueError as error:
        raise ConfigError("{path} is not valid TOML: {error}", path=path.name, error=error) from error
    missing = {"tokenizer", "train", "model"} - set(values)
    require(
        not missing,
        "These sections are missing in {path}: {missing}.",
        path=path.name,
        missing=", ".join(sorted(missing)),
    )
    return Recipe(
        name=path.stem,
        tokenizer=TokenizerConfig.from_dict(values["tokenizer"]),
        train=TrainConfig.from_dict(values["train"]),
        model=values["model"],
        task=values.get("task", "translation"),
    )

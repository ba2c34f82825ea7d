import json
from pathlib import Path

import pytest

from model.config.model import ModelConfig
from model.config.recipe import RECIPES, Recipe, load_recipe
from model.config.search import SearchConfig
from model.config.section import ConfigError
from model.config.tokenizer import TokenizerConfig

SIZES = {"source_vocab_size": 300, "target_vocab_size": 300}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"d_model": 250, "num_heads": 8}, r"d_model \(250\) must be divisible by num_heads \(8\)"),
        ({"d_model": 33, "num_heads": 3}, r"d_model \(33\) must be even"),
        ({"dropout": 1.5}, r"dropout is 1\.5"),
        ({"norm": "middle"}, r"norm is 'middle'; it must be one of 'post', 'pre'"),
        ({"target_vocab_size": 301}, r"source_vocab_size is 300 and target_vocab_size is 301"),
        ({"num_heads": "8"}, r"num_heads is '8'; it must be of type int"),
        ({"num_encoder_layers": 0}, r"num_encoder_layers is 0"),
        ({"num_heads": 8, "num_kv_heads": 3}, r"num_kv_heads is 3 and num_heads is 8\. num_kv_heads must divide"),
        ({"num_kv_heads": -2}, r"num_kv_heads is -2"),
        ({"score_cap": -1.0}, r"score_cap is -1\.0; it must be above 0"),
        ({"score_cap": float("nan")}, r"score_cap is nan"),
        ({"attention_sinks": 1}, r"attention_sinks is 1; it must be of type bool"),
        ({"positional": "rope"}, r"positional is 'rope'; it must be one of 'sinusoidal', .* 'alibi', 'relative'"),
        ({"haeds": 8}, r"ModelConfig has no setting haeds"),
    ],
)
def test_a_wrong_size_is_refused_with_its_value(changes: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ModelConfig.from_dict(SIZES | changes)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"temperature": 1e-40}, r"temperature is 1e-40; it must be from 0\.001"),
        ({"temperature": float("inf")}, r"temperature is inf; it must be from 0\.001 \(almost greedy\) to 1000"),
        ({"temperature": float("nan")}, r"temperature is nan"),
        ({"length_penalty": 1000.0}, r"length_penalty is 1000\.0; it must be from -10 to 10"),
        ({"seed": 2**64}, r"seed is 18446744073709551616; .* Choose a smaller number"),
    ],
)
def test_a_wrong_search_setting_is_refused_with_its_value(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        SearchConfig.from_dict({"method": "sample"} | settings)


def test_a_missing_size_is_named() -> None:
    with pytest.raises(ConfigError, match="target_vocab_size"):
        ModelConfig.from_dict({"source_vocab_size": 5})


def test_configurations_survive_json() -> None:
    config = ModelConfig.from_dict(SIZES | {"norm": "pre"})
    assert ModelConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.toml")), ids=lambda p: p.stem)
def test_bundled_recipes_are_valid(path: Path) -> None:
    assert load_recipe(path.stem).name == path.stem


def test_pretraining_needs_a_corpus_and_a_number_of_epochs() -> None:
    recipe = load_recipe("everyday-de-en")
    for settings in ({"pretrain_corpus": "deu-eng"}, {"pretrain_epochs": 3}, {"pretrain_epochs": -1}):
        with pytest.raises(ConfigError, match="Set both or neither"):
            recipe.with_settings(settings)
    with pytest.raises(ConfigError, match=r"pretrain_corpus is 'deu-eng'; .* only for a translation"):
        load_recipe("imdb-sentiment").with_settings({"pretrain_corpus": "deu-eng", "pretrain_epochs": 3})


def test_word_dropout_works_only_for_a_classifier() -> None:
    assert load_recipe("imdb-sentiment").with_settings({"word_dropout": 0.1}).train.word_dropout == 0.1
    with pytest.raises(ConfigError, match=r"word_dropout is 0\.1; .* only for a classification"):
        load_recipe("multi30k-en-de").with_settings({"word_dropout": 0.1})
    with pytest.raises(ConfigError, match=r"word_dropout is 1\.0; it must be at least 0 and below 1"):
        load_recipe("imdb-sentiment").with_settings({"word_dropout": 1.0})


def test_bpe_dropout_without_subwords_is_refused() -> None:
    for name in ("multi30k-de-en-words", "imdb-sentiment"):
        with pytest.raises(ConfigError, match=r"bpe_dropout is 0\.1; .* only for a translation"):
            load_recipe(name).with_settings({"bpe_dropout": 0.1})


@pytest.mark.parametrize(
    ("recipe", "setting", "remedy"),
    [
        ("everyday-de-en", "source_vocab_size", r"tokenizer\.vocab_size"),
        ("multi30k-de-en-words", "target_vocab_size", r"tokenizer\.min_freq"),
        ("imdb-sentiment", "model.vocab_size", r"tokenizer\.min_freq"),
    ],
)
def test_the_size_of_a_vocabulary_is_counted_and_not_set(recipe: str, setting: str, remedy: str) -> None:
    # It would win over the tokenizer's own size: a run to its end, and a checkpoint that cannot be loaded.
    with pytest.raises(ConfigError, match=rf"vocab_size cannot be set: it is counted .* Set {remedy}"):
        load_recipe(recipe).with_settings({setting: 600})


@pytest.mark.parametrize("name", ["adam_beta1", "adam_beta2"])
def test_the_betas_of_adam_are_below_one(name: str) -> None:
    for value in (1.5, 1.0, -0.1):
        with pytest.raises(ConfigError, match=rf"{name} is {value}; it must be at least 0 and below 1"):
            load_recipe("everyday-de-en").with_settings({name: value})


def test_settings_reach_their_section(tmp_path: Path) -> None:
    recipe = load_recipe("everyday-de-en").with_settings({"num_heads": 4, "train.seed": 9, "tokenizer.vocab_size": 999})
    assert (recipe.model["num_heads"], recipe.train.seed, recipe.tokenizer.vocab_size) == (4, 9, 999)
    with pytest.raises(ConfigError, match=r"'train\.num_heads'"):
        recipe.with_settings({"train.num_heads": 4})
    with pytest.raises(ConfigError, match=r"d_model \(256\) must be divisible by num_heads \(7\)"):
        recipe.with_settings({"num_heads": 7})


def test_each_unreadable_recipe_has_its_own_message(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="There is no recipe 'nothing'"):
        load_recipe("nothing")
    (tmp_path / "bad.toml").write_text("[train\n")
    with pytest.raises(ConfigError, match=r"bad\.toml is not valid TOML"):
        load_recipe(str(tmp_path / "bad.toml"))
    (tmp_path / "short.toml").write_text("[train]\ncorpus = 'x'\n")
    with pytest.raises(ConfigError, match=r"missing in short\.toml: model, tokenizer"):
        load_recipe(str(tmp_path / "short.toml"))


def test_lowercase_works_only_with_words() -> None:
    with pytest.raises(ConfigError, match="lowercase = true"):
        TokenizerConfig(kind="bpe", source_language="en", target_language="de", lowercase=True)


def test_recipe_is_immutable() -> None:
    recipe: Recipe = load_recipe("multi30k-en-de")
    with pytest.raises(AttributeError):
        recipe.name = "other"  # type: ignore[misc]

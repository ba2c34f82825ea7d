"""Writes the folder of a planted model: its weights, its words, its card and its truth."""

import json
from pathlib import Path

from model.checkpoints.checkpoint import WEIGHTS, CheckpointConfig, write_config
from model.checkpoints.description import write_values
from model.checkpoints.layouts import LAYER
from model.config.model import ClassifierConfig, ModelConfig
from model.config.run import TrainConfig
from model.config.tokenizer import TokenizerConfig
from model.files import replace_file, save_weights
from model.network.transformer import Transformer
from model.text.tokenizers import LearnedPair
from model.text.vocab import BOS, EOS, SPECIAL_TOKENS, UNK
from model.text.words import WordTokenizer
from tools.planted.compiler import AnyModel, build, settings_of
from tools.planted.models import MODELS
from tools.planted.parts import Plan, Words
from tools.planted.siit import trained_model
from tools.planted.truth import TRUTH, Truth, truth_of

__all__ = ["write_folder"]

RECIPE = "planted"


def write_folder(name: str, folder: Path) -> Truth:
    """Write a planted model that opens as any checkpoint.

    Args:
        name: One of `MODELS`.
        folder: Is created if needed. Files of the same names in it are replaced.

    Raises:
        KeyError: there is no model of this name.
        CheckpointError: a file cannot be written, or trained weights are missing.
    """
    plan, truth = MODELS[name], truth_of(MODELS[name])
    model = trained_model(plan) if plan.trained else build(plan)
    save_weights(folder / WEIGHTS, model.state_dict())
    if plan.task == "continuation":
        describe(plan, model, folder)
    else:
        configure(plan, model, folder)
    replace_file(folder / TRUTH, truth.to_json())
    replace_file(folder / "README.md", card(plan, truth))
    return truth


def configure(plan: Plan, model: AnyModel, folder: Path) -> None:
    """The files of a checkpoint of ours."""
    assert isinstance(model.config, ModelConfig | ClassifierConfig)
    translates = isinstance(model, Transformer)
    texts = TokenizerConfig(kind="words", source_language="en", target_language="de" if translates else "", min_freq=1)
    source = tokenizer(plan.words, "en")
    pair = LearnedPair(source=source, target=tokenizer(plan.writes or plan.words, "de") if translates else source)
    for file, content in pair.files().items():
        replace_file(folder / file, content)
    train, sizes = TrainConfig(corpus=RECIPE), model.config
    write_config(folder, CheckpointConfig(recipe=RECIPE, model=sizes, tokenizer=texts, train=train, task=plan.task))


def tokenizer(words: Words, language: str) -> WordTokenizer:
    rules = {"language": language, "lowercase": False, "joins_left": [], "joins_right": []}
    return WordTokenizer.from_json(json.dumps(rules | {"words": list(words)}))


def describe(plan: Plan, model: AnyModel, folder: Path) -> None:
    """The files of a decoder alone, which has the names of our own modules."""
    modules = {LAYER.sub(".layers.{i}.", name.rpartition(".")[0]) for name in model.state_dict()}
    replace_file(folder / "vocab.json", json.dumps({one: i for i, one in enumerate((*SPECIAL_TOKENS, *plan.words))}))
    write_values(
        folder,
        {
            "task": plan.task,
            "weights": WEIGHTS,
            "vocabulary": "vocab.json",
            "tokens": "words",
            "model": settings_of(plan),
            "positions": {"table": "decoder.embedding.positions.embedding"},
            "specials": {"bos": BOS, "eos": EOS, "unknown": UNK},
            "names": {
                "target_embedding": "decoder.embedding.tokens",
                "output": "output_projection",
                "modules": {one: one for one in sorted(modules) if "{i}" in one or one.endswith("norm")},
            },
        },
    )


def card(plan: Plan, truth: Truth) -> str:
    origin = "were written by `tools/planted` and not trained"
    if plan.trained:
        origin = "were trained by `tools/planted/siit.py` so that each head below does what the program says"
    rows = [
        f"| {one.head.kind} | {one.head.layer + 1} | {one.head.head + 1} | {one.role} | {one.why} |"
        for one in truth.heads
    ]
    example = truth.examples[0]
    return "\n".join(
        [
            f"# {truth.name}\n",
            f"{truth.sentence} Its weights {origin}.\n",
            f"For example, it reads “{example.text}” and answers “{example.answer}”.\n",
            "| attention | layer | head | role | what it does |\n| --- | --- | --- | --- | --- |",
            *rows,
            f"\nAll other heads are distractors. `{TRUTH}` has the edges that matter, and more examples.\n",
        ]
    )

"""Each checkpoint in `checkpoints/` loads, has a card with its figures, and agrees with its recipe."""

import math
from pathlib import Path

import pytest

from model.analysis.importance import make_examples, sentence_losses
from model.atlas.store import ATLAS_FOLDER
from model.checkpoints.checkpoint import CheckpointConfig, load_checkpoint, load_classifier, read_config
from model.config.foreign import is_foreign
from model.config.model import VOCAB_SIZES
from model.config.recipe import load_recipe
from model.files import load_weights
from model.inference.classify import classify
from model.inference.translate import translate
from tests.conftest import BUNDLED

# The tiny models have their own tests: tests/test_tiny_checkpoints.py
FOLDERS = sorted(path.parent for path in BUNDLED.glob("*/config.json") if not is_foreign(path.parent))


def headline(config: CheckpointConfig) -> float | None:
    return config.figure("accuracy") if config.task == "classification" else config.bleu


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_it_loads_and_works(folder: Path) -> None:
    if read_config(folder).task == "classification":
        assert classify(load_classifier(folder), "A splendid film, warm and clever.").label == "positive"
        assert classify(load_classifier(folder), "A dull, clumsy and boring film.").label == "negative"
        return
    checkpoint = load_checkpoint(folder)
    text = {"de": "Ein Mann liest ein Buch.", "en": "A man is reading a book.", "zh": "他读一本书。"}[
        checkpoint.config.tokenizer.source_language
    ]
    word = {"de": "Buch", "en": "book", "zh": "书書"}[checkpoint.config.tokenizer.target_language]
    translated = translate(checkpoint, text)
    assert translated.finished
    assert word in translated.text or set(word) & set(translated.text)


@pytest.mark.parametrize(
    ("positive", "negative"),
    [
        ("This movie was good.", "This movie was not good."),
        ("I liked it.", "I did not like it."),
        ("I like this film.", "I don't like this film."),
        ("never boring", "boring"),
        ("You will not regret watching it.", "I regret watching it."),
    ],
)
def test_a_negation_changes_the_class(positive: str, negative: str) -> None:
    classifier = load_classifier(BUNDLED / "imdb-sentiment")
    assert classify(classifier, positive).label == "positive"
    assert classify(classifier, negative).label == "negative"


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_its_recipe_describes_it(folder: Path) -> None:
    config, recipe = read_config(folder), load_recipe(folder.name)
    sizes = {name: getattr(config.model, name) for name in VOCAB_SIZES[config.task]}
    assert config.recipe == recipe.name
    assert config.model == recipe.model_config(**sizes)
    assert config.tokenizer == recipe.tokenizer
    assert config.train == recipe.train


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_its_card_and_the_list_of_checkpoints_have_the_recorded_scores(folder: Path) -> None:
    config, card = read_config(folder), (folder / "README.md").read_text(encoding="utf-8")
    for name, value in config.figures.items():
        if name.endswith((".bleu", ".accuracy", ".chrf", ".perplexity")):
            assert f"{value:.2f}" in card, name
    assert f"python -m model train {folder.name}" in card
    figure = headline(config)
    assert figure is not None
    listed = (BUNDLED.parent / "docs" / "checkpoints.md").read_text(encoding="utf-8").splitlines()
    line = next(line for line in listed if f"| {folder.name} |" in line)
    assert f"{figure:.1f}" in line


def test_snapshots_cover_the_whole_run_and_their_loss_falls() -> None:
    checkpoint = load_checkpoint(BUNDLED / "multi30k-en-de")
    paths = sorted((checkpoint.path / "snapshots").iterdir())
    steps = [int(path.stem.removeprefix("step-")) for path in paths]
    assert steps[:-1] == list(checkpoint.config.train.snapshot_steps)
    assert len(steps) == 8
    pairs = [("A man is reading a book.", "Ein Mann liest ein Buch."), ("Two dogs are running.", "Zwei Hunde rennen.")]
    examples, losses = make_examples(checkpoint, pairs), []
    for path in paths:
        load_weights(path, checkpoint.model)
        losses.append(sentence_losses(checkpoint.model, examples).mean().item())
    assert losses[0] > math.log(checkpoint.model.config.target_vocab_size) - 1  # nothing is known yet
    assert losses[-1] < 1
    assert losses[:5] == sorted(losses[:5], reverse=True)


def test_all_checkpoints_together_stay_small() -> None:
    """Without the atlases, see tests/test_bundled_atlases.py."""
    files = (path for path in BUNDLED.rglob("*") if path.is_file() and path.parent.name != ATLAS_FOLDER)
    sizes = [path.stat().st_size for path in files]
    assert max(sizes) < 25e6
    assert sum(sizes) < 150e6

"""A small model learns a toy language, and its attention shows the rule."""

import csv
from pathlib import Path

import numpy as np
import pytest

from model.config.recipe import load_recipe
from model.corpora.toys import TOYS, write_toy
from model.inference.opening import open_translator
from model.inference.translate import forced_ids, translate
from model.training.train import train


@pytest.fixture(scope="module")
def reversing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("toy")
    write_toy(folder, "reverse", longest=5)
    recipe = load_recipe("toy").with_settings({"max_epochs": 6, "cooldown_steps": 250, "snapshot_steps": [0, 200]})
    train(recipe, data_root=folder, out=folder / "run", device="cpu")
    return folder / "run"


def test_nearly_all_unseen_words_are_reversed(reversing: Path) -> None:
    with (reversing / "history.csv").open() as file:
        exact = [float(row["valid_exact"]) for row in csv.DictReader(file)]
    assert exact[0] < 50
    assert max(exact) >= 95
    assert translate(open_translator(reversing), "b e a c o").text == "o c a e b"


def test_the_attention_to_the_source_is_an_anti_diagonal(reversing: Path) -> None:
    checkpoint = open_translator(reversing)
    text, answer = TOYS["reverse"].example(5)
    read = translate(checkpoint, text, forced=forced_ids(checkpoint.tokenizers, answer))
    assert read.text == answer
    cross = read.maps["cross"].mean(axis=(0, 1))  # (T, S)
    places = np.arange(5)
    expected = cross[places, 4 - places]
    assert expected.mean() > 2 * cross[:5, :5].mean()
    assert (cross[:5].argmax(axis=1) == 4 - places).sum() >= 3  # the last letters may attend to the end token

"""The classifier: what padding may not change, what the trace shows, and a run from reviews to accuracy."""

import csv
import io
import json
import random
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from model.checkpoints.checkpoint import CheckpointError, ClassifierCheckpoint, load_checkpoint, load_classifier
from model.cli.main import main
from model.config.model import ClassifierConfig
from model.config.recipe import Recipe
from model.config.run import TrainConfig
from model.config.section import ConfigError
from model.config.tokenizer import TokenizerConfig
from model.corpora.corpora import CorpusError
from model.corpora.reviews import read_reviews
from model.inference.classify import classify, classify_lines
from model.network.classifier import Classifier
from model.text.vocab import EOS_ID, PAD_ID, UNK_ID
from model.trace import ablate_heads, tracing
from model.training.tasks import make_task
from model.training.train import train

GOOD = ("splendid", "warm", "clever", "moving", "bright")
BAD = ("dreary", "clumsy", "hollow", "noisy", "stale")
REST = ("the", "film", "was", "story", "a", "with", "actors", "scene", "music", "and", "light", "for", "two", "hours")


def write_reviews(root: Path, *, rows: int = 400) -> Path:
    """A table of generated reviews in the format of the IMDb set. Their words decide the label."""
    folder, rng = root / "reviews", random.Random(0)
    folder.mkdir(parents=True)
    for table in ("train", "test"):
        lines = ["label\trating\tfile\timdb_title\ttext"]
        for i in range(rows):
            label = i % 2
            words = rng.choices(REST, k=rng.randint(3, 25)) + rng.choices(GOOD if label else BAD, k=2)
            rng.shuffle(words)
            lines.append(
                f'{label}\t{9 if label else 2}\tx/{i}\ttt{i % 60:03d}\t{" ".join(words)} .<br />\u0085 "quoted'
            )
        (folder / f"imdb_{table}.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return root


def recipe(**model: object) -> Recipe:
    return Recipe(
        name="toy-reviews",
        task="classification",
        tokenizer=TokenizerConfig(kind="words", source_language="en", min_freq=1, lowercase=True),
        model={"labels": ["bad", "good"], "d_model": 32, "num_heads": 2, "d_ff": 32, "num_encoder_layers": 1} | model,
        train=TrainConfig(
            corpus="reviews", batch_tokens=600, max_epochs=6, learning_rate=3e-3, warmup_steps=20, average_epochs=2
        ),
    )


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_reviews(tmp_path_factory.mktemp("data"))


@pytest.fixture(scope="module", params=["attention", "mean"])
def trained(request: pytest.FixtureRequest, data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "reviews"
    train(recipe(pooling=request.param, max_length=40), data_root=data, out=folder, device="cpu")
    return folder


@pytest.fixture(scope="module")
def checkpoint(trained: Path) -> ClassifierCheckpoint:
    return load_classifier(trained)


def test_it_learns_which_words_decide(trained: Path, checkpoint: ClassifierCheckpoint) -> None:
    with (trained / "history.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert max(float(row["valid_accuracy"]) for row in rows) > 95
    assert classify(checkpoint, "The actors were splendid and the music warm.").label == "good"
    result = classify(checkpoint, "A hollow story with noisy music.")
    assert result.label == "bad"
    assert sum(result.probabilities.values()) == pytest.approx(1)


def test_the_maps_are_those_of_the_decision(checkpoint: ClassifierCheckpoint) -> None:
    text = "Splendid music, a dreary scene."
    result = classify(checkpoint, text)
    size = len(result.tokens)
    assert result.tokens[-1] == "</s>"
    assert result.encoder.shape == (1, 2, size, size)
    np.testing.assert_allclose(result.encoder.sum(-1), 1, atol=1e-5)
    if checkpoint.model.config.pooling == "attention":
        assert result.pooling is not None
        assert result.pooling.shape == (2, size)
        np.testing.assert_allclose(result.pooling.sum(-1), 1, atol=1e-5)
        silenced = classify(checkpoint, text, edits={"pooling.*.weights": ablate_heads([0, 1])})
        # Without keys to attend to, all texts have the same output.
        other = classify(checkpoint, "Clumsy.", edits={"pooling.*.weights": ablate_heads([0, 1])})
        assert silenced.probabilities == pytest.approx(other.probabilities)
        assert classify(checkpoint, text).probabilities == pytest.approx(result.probabilities, abs=1e-6)
    else:
        assert result.pooling is None


def test_padding_changes_nothing(checkpoint: ClassifierCheckpoint) -> None:
    alone = torch.tensor([[5, 9, 7, 3]])
    padded = torch.tensor([[5, 9, 7, 3, 0, 0, 0], [4, 4, 6, 8, 9, 5, 3]])
    with torch.inference_mode():
        torch.testing.assert_close(checkpoint.model(padded)[:1], checkpoint.model(alone), rtol=1e-5, atol=1e-5)
        with tracing() as trace:
            traced = checkpoint.model(padded)
        torch.testing.assert_close(traced, checkpoint.model(padded), rtol=1e-5, atol=1e-5)
    assert {"pooled", "logits", "encoder.layers.0.self_attention.weights"} <= set(trace.names)


@pytest.mark.parametrize("text", ["", "word " * 500, "</script> 🙂 שלום"])
def test_any_text_is_classified(checkpoint: ClassifierCheckpoint, text: str) -> None:
    result = classify(checkpoint, text)
    assert len(result.tokens) <= 40
    assert result.dropped == max(0, len(checkpoint.tokenizers.source.encode(text).ids) - 39)


def test_many_texts_get_the_label_that_each_gets_alone(checkpoint: ClassifierCheckpoint, data: Path) -> None:
    texts = [text for text, _ in read_reviews(data, "reviews", "test")][:50]
    labels = classify_lines(checkpoint.model, checkpoint.tokenizers, texts, batch_size=7)
    assert [checkpoint.model.config.labels[i] for i in labels] == [classify(checkpoint, text).label for text in texts]


def test_the_command_line_evaluates_and_classifies(
    trained: Path, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["evaluate", str(trained), "--data-dir", str(data), "--json"]) == 0
    values = json.loads(capsys.readouterr().out)
    assert values["split"] == "reviews.test"
    assert values["examples"] == 400
    assert values["accuracy"] > 95
    monkeypatch.setattr(sys, "stdin", io.StringIO("A warm and clever film.\nStale and hollow.\n"))
    assert main(["classify", str(trained)]) == 0
    assert [line.split("\t")[0] for line in capsys.readouterr().out.splitlines()] == ["good", "bad"]
    assert main(["translate", str(trained)]) == 1
    assert "classifies texts and does not translate" in capsys.readouterr().err


def test_reviews_are_read_whole_and_no_film_is_on_both_sides(data: Path) -> None:
    splits = {name: read_reviews(data, "reviews", name) for name in ("train", "val", "test")}
    assert len(splits["train"]) + len(splits["val"]) == len(splits["test"]) == 400
    assert splits["val"]
    assert all('.\n\u0085 "quoted' in text for text, _ in splits["test"])
    assert {label for _, label in splits["train"]} == {0, 1}


def test_unusable_tables_get_a_message(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"no imdb_train\.tsv or imdb_train\.tsv\.gz in .*reviews"):
        read_reviews(tmp_path, "reviews", "train")
    write_reviews(tmp_path)
    with pytest.raises(CorpusError, match="no split 'dev'"):
        read_reviews(tmp_path, "reviews", "dev")
    (tmp_path / "reviews" / "imdb_test.tsv").write_text("label\ttext\n1\tGood.\n")
    with pytest.raises(CorpusError, match=r"Line 2 of .* must be label, rating, file, film and text"):
        read_reviews(tmp_path, "reviews", "test")


def test_word_dropout_hides_as_many_words_as_it_says_and_others_in_each_epoch(data: Path) -> None:
    chosen = recipe().with_settings({"word_dropout": 0.3})
    task = make_task(chosen, data_root=data, folder=None, device=torch.device("cpu"))

    batches = task.batches_of(1)
    rows = list(batches.epoch(seed=1, number=1))  # the same examples, so that epochs can be compared word by word
    first, second = (
        torch.cat([batches.load(some, seed=1, number=number).source.flatten() for some in rows]) for number in (1, 2)
    )
    words = (first != PAD_ID) & (first != EOS_ID)
    assert (first[words] == UNK_ID).float().mean().item() == pytest.approx(0.3, abs=0.03)
    assert (first == EOS_ID).sum() == (second == EOS_ID).sum() == len(read_reviews(data, "reviews", "train"))
    assert not torch.equal(first, second)


def test_impossible_configurations_are_refused(trained: Path) -> None:
    with pytest.raises(ConfigError, match=r"labels are \['one'\]; .* at least two"):
        recipe(labels=["one"])
    with pytest.raises(ConfigError, match="target_language is missing; a translation needs one"):
        Recipe(
            name="x",
            tokenizer=TokenizerConfig(kind="words", source_language="en"),
            model={},
            train=TrainConfig(corpus="toy"),
        )
    with pytest.raises(CheckpointError, match="classifies texts and does not translate"):
        load_checkpoint(trained)


@pytest.mark.parametrize("variant", [{"attention": "additive"}, {"norm": "pre"}, {"positional": "learned"}])
def test_variants_run_and_learn_from_every_parameter(variant: dict[str, str]) -> None:
    config = ClassifierConfig(vocab_size=20, labels=("a", "b", "c"), d_model=16, num_heads=2, d_ff=8, **variant)
    model = Classifier(config)
    logits = model(torch.tensor([[5, 6, 7, 3], [8, 3, 0, 0]]))
    assert logits.shape == (2, 3)
    logits.sum().backward()
    assert all(p.grad is not None for p in model.parameters())

"""Filling gaps: the masked tokens, the loss, and a run with weights that a classifier starts from."""

import csv
import random
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from safetensors.torch import load_file

from model.checkpoints.checkpoint import CheckpointError, load_classifier
from model.config.recipe import Recipe, load_recipe
from model.config.section import ConfigError
from model.network.masks import padding_mask
from model.text.vocab import EOS_ID, PAD_ID, UNK_ID
from model.training.tasks import make_task
from model.training.train import train
from tests.conftest import toy_recipe
from tests.model.network.test_classifier import recipe, write_reviews

GAPS = {"fill_gaps": True, "word_dropout": 0.2, "corpus": "pairs"}
FIRST, SECOND = ("old", "new", "red", "blue", "tall", "wet"), ("house", "car", "rose", "sea", "tree", "dog")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts of word pairs: only one word of a pair predicts the other."""
    root, draw = tmp_path_factory.mktemp("data"), random.Random(1)
    (root / "pairs").mkdir()
    lines = ["label\trating\tfile\tfilm\ttext"]
    for i in range(800):
        pairs = draw.choices(list(zip(FIRST, SECOND, strict=True)), k=draw.randint(3, 8))
        lines.append(f"{i % 2}\t1\tx\tt{i}\t{' '.join(' '.join(pair) for pair in pairs)}")
    (root / "pairs" / "imdb_train.tsv").write_text("\n".join(lines) + "\n")
    return root


def gap_recipe(**settings: object) -> Recipe:
    return recipe(max_length=40, dropout=0.0).with_settings(GAPS | settings)


def test_only_hidden_words_are_targets(data: Path) -> None:
    task = make_task(gap_recipe(), data_root=data, folder=None, device=torch.device("cpu"))
    batches = task.batches_of(1)
    rows = list(batches.epoch(seed=1, number=1))
    whole = [batches.examples[i][0] for batch in rows for i in batch]
    read = [row[row != PAD_ID].tolist() for batch in rows for row in batches.load(batch, seed=1, number=1).source]
    asked = [row for batch in rows for row in batches.load(batch, seed=1, number=1).hidden.tolist()]
    assert len(whole) == len(read)
    gaps = 0
    for text, shown, wanted in zip(whole, read, asked, strict=True):
        assert shown[-1] == text[-1] == EOS_ID
        for i, word in enumerate(text):
            assert (shown[i], wanted[i]) in {(word, PAD_ID), (UNK_ID, word)}
        gaps += sum(word != PAD_ID for word in wanted)
    assert gaps / sum(len(text) - 1 for text in whole) == pytest.approx(0.2, abs=0.03)
    first, second = (
        torch.cat([b.hidden.flatten() for b in map(task.valid_batches.load, task.valid_batches.sorted())])
        for _ in range(2)
    )
    assert torch.equal(first, second)
    assert (first != PAD_ID).any()


def test_only_hidden_words_count_in_the_loss(data: Path) -> None:
    task = make_task(gap_recipe(), data_root=data, folder=None, device=torch.device("cpu"))
    torch.manual_seed(1)
    model = task.new_model().eval()
    batch = next(iter(map(task.valid_batches.load, task.valid_batches.sorted())))
    found = task.loss(model, 0.0)(batch)
    states = model.encoder(batch.source, mask=padding_mask(batch.source, PAD_ID))
    logits = states @ model.encoder.embedding.tokens.weight.T
    expected = F.cross_entropy(logits.flatten(0, 1), batch.hidden.flatten(), ignore_index=PAD_ID, reduction="sum")
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)
    assert batch.items == (batch.hidden != PAD_ID).sum()


def test_a_classifier_starts_from_a_model_that_predicts_hidden_words(data: Path, tmp_path: Path) -> None:
    write_reviews(tmp_path)
    settings = {"learning_rate": 1e-2, "batch_tokens": 400, "average_epochs": 1}
    for epochs, resume in ((1, False), (22, True)):  # the head, which learns nothing yet, is no hindrance
        chosen = gap_recipe(**settings, max_epochs=epochs)
        train(chosen, data_root=data, out=tmp_path / "gaps", device="cpu", resume=resume)
    with (tmp_path / "gaps" / "history.csv").open() as file:
        rows = list(csv.DictReader(file))
    # A blind guess is right for one word in twelve. The neighbour predicts a word, unless it is masked too.
    assert max(float(row["valid_probability"]) for row in rows) > 40
    assert float(rows[0]["valid_probability"]) < 20
    with pytest.raises(CheckpointError, match="gaps has learned to predict hidden words"):
        load_classifier(tmp_path / "gaps")
    labels = recipe(max_length=40, dropout=0.0).with_settings({"corpus": "pairs", "max_epochs": 1})
    train(labels, data_root=data, out=tmp_path / "labels", device="cpu", init=tmp_path / "gaps")
    with (tmp_path / "labels" / "history.csv").open() as file:
        assert "valid_accuracy" in next(csv.DictReader(file))


def test_self_attention_can_have_a_lower_learning_rate(data: Path, tmp_path: Path) -> None:
    """The first step of Adam has the length of the rate for any gradient, so the weights show the rate."""
    moved: dict[float, dict[str, float]] = {}
    for share in (1.0, 0.1):
        chosen = gap_recipe(attention_rate=share, max_steps=1, warmup_steps=1, learning_rate=0.05)
        train(chosen, data_root=data, out=tmp_path / str(share), device="cpu")
        start = gap_recipe(max_steps=1, warmup_steps=1, learning_rate=1e-12)
        if not moved:
            train(start, data_root=data, out=tmp_path / "start", device="cpu")
        before, after = (load_file(tmp_path / name / "model.safetensors") for name in ("start", str(share)))
        moved[share] = {name: (after[name].float() - before[name].float()).abs().max().item() for name in after}
    for name in moved[1.0]:
        ratio = 0.1 if ".self_attention." in name else 1.0
        # Weights are stored in half precision, in steps of 5e-4 below 1. A bias of keys changes no softmax.
        if not name.endswith("key_projection.bias"):
            assert moved[0.1][name] == pytest.approx(ratio * moved[1.0][name], rel=0.02, abs=1e-3), name
    assert moved[1.0]["encoder.layers.0.self_attention.query_projection.weight"] == pytest.approx(0.05, rel=0.02)
    with pytest.raises(ConfigError, match=r"attention_rate is 0\.0; it must be above 0 and at most 1"):
        gap_recipe(attention_rate=0.0)
    with pytest.raises(ConfigError, match=r"attention_rate is 0\.1, but a recurrent network has no self-attention"):
        load_recipe("gru-de-en").with_settings({"attention_rate": 0.1})


def test_predicting_hidden_words_needs_word_dropout() -> None:
    with pytest.raises(ConfigError, match=r"fill_gaps needs hidden words, but word_dropout is 0\.0"):
        gap_recipe(word_dropout=0.0)
    with pytest.raises(ConfigError, match=r"fill_gaps is True; .* only for a classification"):
        toy_recipe("words").with_settings({"fill_gaps": True})


def test_a_run_with_rotary_positions_can_start_from_sinusoids(data: Path, tmp_path: Path) -> None:
    """All is taken but what compares tokens; that begins as in a run from nothing."""
    train(gap_recipe(max_steps=2), data_root=data, out=tmp_path / "reads", device="cpu")
    still = {"corpus": "pairs", "max_steps": 1, "learning_rate": 1e-9}
    turned = recipe(max_length=40, positional="rotary").with_settings(still)
    train(turned, data_root=data, out=tmp_path / "on", device="cpu", init=tmp_path / "reads")
    train(turned, data_root=data, out=tmp_path / "new", device="cpu")
    reads, on, new = (load_file(tmp_path / name / "model.safetensors") for name in ("reads", "on", "new"))
    # A step of this size moves a weight by 1e-9 at most, half precision by less than a thousandth.
    taken, begun = (
        {name for name in on if torch.allclose(on[name].float(), start[name].float(), rtol=1e-3, atol=1e-6)}
        for start in (reads, new)
    )
    fresh = {name for name in on if ".self_attention.query" in name or ".self_attention.key" in name}
    assert taken == on.keys() - fresh
    assert fresh
    assert fresh <= begun

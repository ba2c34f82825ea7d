"""Every setting of a run changes the training as its name says."""

import csv
import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from safetensors import safe_open
from safetensors.torch import load_file
from torch import Tensor

from model.config.recipe import Recipe
from model.config.run import TrainConfig
from model.corpora.batch import TranslationBatch
from model.network.translators import OurTranslator, make_translator
from model.text.vocab import PAD_ID
from model.training import runtime
from model.training.tasks import TranslationTask, make_task
from model.training.train import train
from tests.conftest import toy_recipe
from tests.model.network.test_classifier import recipe as classifier_recipe
from tests.model.network.test_classifier import write_reviews

# Two epochs of a few steps; gradients are clipped and the warm-up ends after two steps.
BASE: dict[str, object] = {
    "batch_tokens": 60,
    "max_epochs": 2,
    "learning_rate": 1e-2,
    "warmup_steps": 2,
    "average_epochs": 1,
    "clip_norm": 0.1,
    "label_smoothing": 0.1,
}


@dataclass(frozen=True)
class Run:
    """The folder of a run that has ended."""

    folder: Path

    @cached_property
    def history(self) -> list[dict[str, float]]:
        with (self.folder / "history.csv").open() as file:
            return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]

    @cached_property
    def state(self) -> dict[str, Tensor]:
        with safe_open(self.folder / "training" / "state.safetensors", framework="pt") as file:
            return {name: file.get_tensor(name) for name in file.offset_keys()}

    @cached_property
    def steps(self) -> int:
        with safe_open(self.folder / "training" / "state.safetensors", framework="pt") as file:
            return int(json.loads(file.metadata()["progress"])["step"])

    @property
    def kept_epochs(self) -> int:
        return len(list((self.folder / "training").glob("epoch-*")))

    def adam(self, moment: str) -> Tensor:
        """A moment of all parameters in one row: exp_avg or exp_avg_sq."""
        prefix = f"adam.{moment}."
        return torch.cat([self.state[name].flatten() for name in sorted(self.state) if name.startswith(prefix)])


Runs = Callable[..., Run]


@pytest.fixture(scope="module")
def translations(few_pairs: Path, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Trains a small translator with some settings, once for each."""
    done: dict[str, Run] = {}

    def run(kind: str = "words", **settings: object) -> Run:
        key = repr((kind, sorted(settings.items())))
        if key not in done:
            done[key] = trained(few_pairs, tmp_path_factory.mktemp("run") / "run", kind, **settings)
        return done[key]

    return run


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    data = write_reviews(tmp_path_factory.mktemp("data"), rows=40)

    def run(**settings: object) -> Run:
        found = Run(tmp_path_factory.mktemp("run") / "run")
        recipe = classifier_recipe(max_length=40).with_settings(BASE | {"max_steps": 2} | settings)
        train(recipe, data_root=data, out=found.folder, device="cpu")
        return found

    return run


def trained(data: Path, folder: Path, kind: str = "words", **settings: object) -> Run:
    recipe = toy_recipe(kind).with_settings(BASE | {"d_model": 16, "d_ff": 16, "max_length": 24} | settings)
    train(recipe, data_root=data, out=folder, device="cpu")
    return Run(folder)


def same_weights(one: Run, other: Run) -> bool:
    names = [name for name in one.state if name.startswith("model.")]
    return all(torch.equal(one.state[name], other.state[name]) for name in names)


# A setting, another value of it, and what a run has more, or fewer, of than one with the value of BASE.
COUNTED: dict[str, tuple[dict[str, object], Callable[[Run, Run], bool]]] = {
    "corpus": ({"corpus": "toy+toy"}, lambda base, other: other.steps > base.steps),
    "pretrain_corpus": (
        {"pretrain_corpus": "toy+toy", "pretrain_epochs": 1},
        lambda base, other: other.history[0]["step"] > base.history[0]["step"],
    ),
    "pretrain_epochs": (
        {"pretrain_corpus": "toy+toy", "pretrain_epochs": 2},
        lambda base, other: other.steps == 2 * other.history[0]["step"] > base.steps,
    ),
    "batch_tokens": ({"batch_tokens": 120}, lambda base, other: other.steps < base.steps),
    "max_epochs": ({"max_epochs": 3}, lambda base, other: len(other.history) == len(base.history) + 1),
    "max_steps": ({"max_steps": 3}, lambda base, other: other.steps == 3 < base.steps),
    "accumulate": ({"accumulate": 2}, lambda base, other: other.history[0]["step"] == -(-base.history[0]["step"] // 2)),
    "average_epochs": ({"average_epochs": 2}, lambda base, other: (base.kept_epochs, other.kept_epochs) == (1, 2)),
    "snapshot_steps": (
        {"snapshot_steps": [2]},
        lambda base, other: (
            (other.folder / "snapshots" / "step-000002.safetensors").exists()
            and not (base.folder / "snapshots").exists()
        ),
    ),
    "warmup_steps": (
        {"warmup_steps": 1000},
        lambda base, other: other.history[-1]["learning_rate"] == pytest.approx(1e-2 * other.steps / 1000, rel=1e-3),
    ),
    "cooldown_steps": (
        {"cooldown_steps": 4},
        lambda base, other: (
            other.history[-1]["learning_rate"] == pytest.approx(base.history[-1]["learning_rate"] / 4, rel=1e-3)
        ),
    ),
    "learning_rate": (
        {"learning_rate": 2e-2},
        lambda base, other: (
            other.history[-1]["learning_rate"] == pytest.approx(2 * base.history[-1]["learning_rate"], rel=1e-3)
        ),
    ),
}

# Settings that have a test of their own below.
APART = {
    "adam_beta1",
    "adam_beta2",
    "attention_rate",
    "bpe_dropout",
    "clip_norm",
    "compile",
    "fill_gaps",
    "label_smoothing",
    "patience",
    "precision",
    "seed",
    "word_dropout",
}


def test_every_setting_has_a_test_in_this_file() -> None:
    assert COUNTED.keys() | APART == {field.name for field in fields(TrainConfig)}
    assert not COUNTED.keys() & APART


def test_the_same_settings_train_the_same_weights(translations: Runs) -> None:
    """So every difference in the tests below comes from the setting."""
    assert same_weights(translations(), translations(max_length=24, max_steps=100_000))


@pytest.mark.parametrize("name", COUNTED)
def test_a_setting_changes_what_training_does(translations: Runs, name: str) -> None:
    settings, differs = COUNTED[name]
    assert name in settings
    assert differs(translations(), translations(**settings))


@pytest.fixture(scope="module")
def gradient(translations: Runs) -> Tensor:
    """Of the first step, before it is clipped; after that step Adam's mean is (1 − β₁) times it."""
    first = translations(max_steps=1, adam_beta1=0.9, adam_beta2=0.98, clip_norm=1e6)
    return first.adam("exp_avg") / (1 - 0.9)


@pytest.mark.parametrize(("beta1", "beta2"), [(0.9, 0.98), (0.5, 0.98), (0.9, 0.5)])
def test_adam_uses_the_betas_of_the_recipe(translations: Runs, gradient: Tensor, beta1: float, beta2: float) -> None:
    first = translations(max_steps=1, adam_beta1=beta1, adam_beta2=beta2, clip_norm=1e6)
    torch.testing.assert_close(first.adam("exp_avg"), (1 - beta1) * gradient)
    torch.testing.assert_close(first.adam("exp_avg_sq"), (1 - beta2) * gradient**2)


@pytest.mark.parametrize("share", [0.1, 0.5, 2.0])
def test_a_gradient_is_no_longer_than_clip_norm(translations: Runs, gradient: Tensor, share: float) -> None:
    norm = gradient.norm().item()
    first = translations(max_steps=1, adam_beta1=0.9, adam_beta2=0.98, clip_norm=share * norm)
    torch.testing.assert_close(first.adam("exp_avg") / 0.1, min(share, 1.0) * gradient, rtol=1e-4, atol=1e-6)


STILL: dict[str, object] = {"learning_rate": 1e-9, "dropout": 0.0, "max_epochs": 1}  # the loss of the first weights


def task_of(run: Run, few_pairs: Path, kind: str = "words", **settings: object) -> tuple[Any, OurTranslator]:
    """The task of a run, and the model with which it began."""
    recipe: Recipe = toy_recipe(kind).with_settings(BASE | {"d_model": 16, "d_ff": 16, "max_length": 24} | settings)
    task = make_task(recipe, data_root=few_pairs, folder=run.folder, device=torch.device("cpu"))
    task.open_training(run.folder / "training", resume=True)
    torch.manual_seed(recipe.train.seed)
    return task, task.new_model().eval()


def loss_and_tokens(model: OurTranslator, batches: Iterable[TranslationBatch], smoothing: float) -> tuple[float, int]:
    """The mean loss of a token, and how many tokens there are, without the code of training."""
    total, tokens = 0.0, 0
    for batch in batches:
        labels = batch.target[:, 1:]
        logits = model.decode(batch.target[:, :-1], *model.encode(batch.source))
        kept = labels != PAD_ID
        total += F.cross_entropy(logits[kept], labels[kept], label_smoothing=smoothing, reduction="sum").item()
        tokens += int(kept.sum())
    return total / tokens, tokens


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.6])
def test_label_smoothing_smooths_the_training_loss(translations: Runs, few_pairs: Path, smoothing: float) -> None:
    run = translations(label_smoothing=smoothing, **STILL)
    task, model = task_of(run, few_pairs, **STILL)
    expected, _ = loss_and_tokens(model, map(task.batches_of(1).load, task.batches_of(1).sorted()), smoothing)
    assert run.history[0]["train_loss"] == pytest.approx(expected, rel=1e-4)


def test_the_attention_rate_scales_the_learning_rate_of_self_attention(translations: Runs, few_pairs: Path) -> None:
    whole, slower = (translations(max_steps=1, attention_rate=share) for share in (1.0, 0.25))
    first = task_of(whole, few_pairs)[1].state_dict()
    moved = 0
    for name, before in first.items():
        if (key := f"model.{name}") not in whole.state:
            continue
        steps = [run.state[key] - before for run in (whole, slower)]
        share = 0.25 if ".self_attention." in name else 1.0
        torch.testing.assert_close(steps[1], share * steps[0], rtol=1e-2, atol=1e-6)
        moved += bool((".self_attention." in name) and steps[0].abs().max() > 1e-4)
    assert moved > 0


def test_half_precision_gradients_have_the_rounding_error_of_eight_bits(translations: Runs, gradient: Tensor) -> None:
    short = translations(max_steps=1, adam_beta1=0.9, adam_beta2=0.98, clip_norm=1e6, precision="bf16")
    error = float((short.adam("exp_avg") / (1 - 0.9) - gradient).norm() / gradient.norm())
    assert 2**-12 < error < 2**-3  # single precision has errors below 2**-20


def test_the_seed_decides_the_first_weights(translations: Runs) -> None:
    one, other = (translations(seed=seed, **STILL) for seed in (1, 2))
    matrices = [name for name in one.state if name.startswith("model.") and one.state[name].dim() > 1]
    assert all((one.state[name] - other.state[name]).abs().max() > 1e-3 for name in matrices)


@pytest.fixture
def same_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run begins with the same weights, for any seed."""

    def new_model(task: TranslationTask) -> OurTranslator:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            return make_translator(task.model_config, pad_id=PAD_ID)

    monkeypatch.setattr(TranslationTask, "new_model", new_model)


@pytest.mark.usefixtures("same_start")
def test_the_seed_decides_the_order_of_the_batches(few_pairs: Path, tmp_path: Path) -> None:
    one, same, other = (trained(few_pairs, tmp_path / name, seed=seed) for name, seed in (("a", 1), ("b", 1), ("c", 2)))
    assert same_weights(one, same)
    assert not same_weights(one, other)


@pytest.mark.usefixtures("same_start")
def test_the_seed_decides_how_words_are_split(few_pairs: Path, tmp_path: Path) -> None:
    """All pairs are one batch, so their order changes nothing."""
    cut = {"kind": "bpe", "bpe_dropout": 0.5, "batch_tokens": 100_000, **STILL}
    losses = [trained(few_pairs, tmp_path / str(seed), seed=seed, **cut).history[0]["train_loss"] for seed in (1, 2)]
    assert abs(losses[0] - losses[1]) > 1e-3


def test_a_run_ends_after_patience_epochs_without_improvement(translations: Runs) -> None:
    still = {"learning_rate": 1e-9, "max_epochs": 6}
    assert [len(translations(patience=n, **still).history) for n in (1, 3)] == [2, 4]


def test_bpe_dropout_splits_words_into_more_tokens_that_differ_in_each_epoch(
    translations: Runs, few_pairs: Path
) -> None:
    settings = STILL | {"max_epochs": 2, "bpe_dropout": 0.5}
    run = translations("bpe", **settings)
    task, model = task_of(run, few_pairs, "bpe", **settings)
    examples = task.batches_of(1).examples
    whole = sum(len(examples[i][1]) - 1 for i in range(len(examples)))
    losses = []
    for epoch in (1, 2):
        batches, order = task.batches_of(epoch), {"seed": task.recipe.train.seed, "number": epoch}
        loss, tokens = loss_and_tokens(model, [batches.load(rows, **order) for rows in batches.epoch(**order)], 0.1)
        assert tokens > 1.1 * whole
        assert run.history[epoch - 1]["train_loss"] == pytest.approx(loss, rel=1e-4)
        losses.append(loss)
    assert abs(losses[0] - losses[1]) > 1e-3


def test_word_dropout_hides_words_and_fill_gaps_makes_them_targets(reviews: Runs) -> None:
    whole, hidden = reviews(), reviews(word_dropout=0.5)
    assert not same_weights(whole, hidden)
    assert "valid_accuracy" in hidden.history[0]
    assert "valid_probability" in reviews(word_dropout=0.5, fill_gaps=True).history[0]


@pytest.mark.filterwarnings("ignore")  # what PyTorch warns of itself while it compiles
def test_a_compiled_run_computes_the_same_losses(translations: Runs, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch traces our code into graphs; the kernels that inductor makes of them are its own."""
    from torch._dynamo.utils import counters

    monkeypatch.setattr(runtime, "COMPILER", "eager")
    counters.clear()
    plain = translations(max_steps=1)
    assert not counters["stats"]
    compiled = translations(max_steps=1, compile=True)
    assert counters["stats"]["unique_graphs"] > 0
    for name, tensor in load_file(plain.folder / "model.safetensors").items():
        torch.testing.assert_close(load_file(compiled.folder / "model.safetensors")[name], tensor, rtol=2e-3, atol=2e-3)
    torch._dynamo.reset()

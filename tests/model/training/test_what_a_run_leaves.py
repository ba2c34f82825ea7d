"""What a run learned is in its folder when it ends: at its last step, when it is stopped, and when it is killed."""

import csv
import json
import signal
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from model import files
from model.checkpoints.checkpoint import load_checkpoint
from model.config.recipe import Recipe
from model.training import train as training
from model.training.tasks import make_task
from model.training.train import Trainer, train
from tests.conftest import TOY_DATA, toy_recipe

FAST = {"learning_rate": 4e-3, "warmup_steps": 5, "batch_tokens": 1000, "average_epochs": 1}


def run(recipe: Recipe, out: Path, *, resume: bool = False, init: Path | None = None, data: Path = TOY_DATA) -> Path:
    train(recipe, data_root=data, out=out, device="cpu", resume=resume, init=init)
    return out


def history(folder: Path) -> list[dict[str, float]]:
    with (folder / "history.csv").open() as file:
        return [{name: float(value) for name, value in row.items()} for row in csv.DictReader(file)]


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def current(folder: Path) -> dict[str, torch.Tensor]:
    """The weights after the last step, in the half precision of a checkpoint."""
    with safe_open(folder / "training" / "state.safetensors", framework="pt") as file:
        names = [name for name in file.offset_keys() if name.startswith("model.")]
        return {name.removeprefix("model."): file.get_tensor(name).half() for name in names}


def same(ours: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> bool:
    return ours.keys() == theirs.keys() and all(torch.equal(ours[name], theirs[name]) for name in ours)


def valid_loss(folder: Path, recipe: Recipe) -> float:
    task = make_task(recipe, data_root=TOY_DATA, folder=folder, device=torch.device("cpu"))
    return task.valid_loss(load_checkpoint(folder).model)


@pytest.fixture(scope="module")
def epoch_steps(tmp_path_factory: pytest.TempPathFactory) -> int:
    recipe = toy_recipe("words", max_epochs=1, **FAST)
    return int(history(run(recipe, tmp_path_factory.mktemp("one") / "run"))[0]["step"])


def test_the_checkpoint_includes_the_steps_of_an_unfinished_epoch(tmp_path: Path, epoch_steps: int) -> None:
    steps = 2 * epoch_steps - 1
    recipe = toy_recipe("words", max_steps=steps, cooldown_steps=epoch_steps - 1, **FAST)
    folder = run(recipe, tmp_path / "run")
    rows = history(folder)
    assert [row["step"] for row in rows] == [epoch_steps, steps]
    assert same(weights(folder), current(folder))
    assert rows[1]["valid_loss"] < rows[0]["valid_loss"]
    assert valid_loss(folder, recipe) == pytest.approx(rows[1]["valid_loss"], abs=2e-3)  # stored in half precision
    assert load_checkpoint(folder).config.figures == {"valid_bleu": rows[1]["valid_bleu"]}


def test_a_stopped_run_is_validated_at_its_last_step(tmp_path: Path, epoch_steps: int) -> None:
    """Ctrl-C and the last step end a run in the same way. Only the last snapshot differs."""
    steps = epoch_steps + 2
    recipe = toy_recipe("words", max_epochs=9, snapshot_steps=[1], **FAST)
    stopped = tmp_path / "stopped"
    with pytest.MonkeyPatch.context() as patch:
        step = Trainer._step

        def step_and_interrupt(self: Trainer, *given: object) -> None:
            step(self, *given)  # type: ignore[arg-type]
            if self.progress.step == steps:
                signal.raise_signal(signal.SIGINT)

        patch.setattr(Trainer, "_step", step_and_interrupt)
        run(recipe, stopped)
    ended = run(recipe.with_settings({"max_steps": steps}), tmp_path / "ended")
    assert [row["step"] for row in history(stopped)] == [epoch_steps, steps]
    assert same(weights(stopped), current(stopped))
    assert same(weights(stopped), weights(ended))
    snapshots = [sorted(int(path.stem[5:]) for path in (at / "snapshots").iterdir()) for at in (stopped, ended)]
    assert snapshots == [[1], [1, steps]]


def test_a_resumed_run_does_not_replace_its_checkpoint_by_a_worse_one(
    toys: Callable[[str], Path], tmp_path: Path, epoch_steps: int
) -> None:
    recipe = toy_recipe("words", max_steps=epoch_steps + 3, **FAST | {"learning_rate": 1e-9})
    folder = run(recipe, tmp_path / "run", init=toys("words"))
    best, last = weights(folder), history(folder)[-1]
    ruin = {"max_steps": 2 * epoch_steps, "learning_rate": 0.5, "warmup_steps": 1}
    run(recipe.with_settings(ruin), folder, resume=True)
    assert history(folder)[-1]["valid_bleu"] < 20 < last["valid_bleu"]
    assert same(weights(folder), best)
    assert load_checkpoint(folder).config.figures == {"valid_bleu": last["valid_bleu"]}


class Killed(BaseException):
    """Ends a run as a kill does: nothing of the run catches it."""


def killed_at(write: int, recipe: Recipe, out: Path, data: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Train until the file with that number is to be written; False if the run ends before."""
    left, replace = [write], Path.replace

    def replace_or_die(beside: Path, target: Path) -> Path:
        left[0] -= 1
        if left[0] < 0:
            raise Killed
        return replace(beside, target)

    with monkeypatch.context() as patch:
        patch.setattr(files.Path, "replace", replace_or_die)
        try:
            run(recipe, out, data=data)
        except Killed:
            return True
    return False


@pytest.mark.parametrize("seconds", [0.0, 1e6])  # from one save to the next: after each step, or none in the epoch
def test_a_kill_at_any_write_of_the_first_epoch_leaves_a_run_that_resumes(
    tmp_path: Path, few_pairs: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    monkeypatch.setattr(training, "SAVE_SECONDS", seconds)
    recipe = toy_recipe("words", max_epochs=1, **FAST | {"batch_tokens": 100})
    recipe = recipe.with_settings({"d_model": 16, "d_ff": 16, "max_length": 24})
    straight = run(recipe, tmp_path / "straight", data=few_pairs)
    write, resumed_at = 0, []
    while killed_at(write, recipe, out := tmp_path / str(write), few_pairs, monkeypatch):
        begun = (out / "training" / "state.safetensors").exists()
        if begun:
            with safe_open(out / "training" / "state.safetensors", framework="pt") as file:
                progress = json.loads(file.metadata()["progress"])
            resumed_at.append((progress["epoch"], progress["step"]))
        run(recipe, out, resume=begun, data=few_pairs)
        assert same(weights(out), weights(straight)), f"killed at write {write}"
        assert [row["step"] for row in history(out)] == [row["step"] for row in history(straight)]
        write += 1
    assert write > 8  # two vocabularies, the configuration twice, states, weights twice, and the history
    within = {step for epoch, step in resumed_at if epoch == 1}
    assert len(within) > 2 if seconds == 0 else within == {0}


@pytest.mark.parametrize("mean_is_better", [True, False])
def test_the_better_of_the_last_weights_and_their_mean_is_kept(
    toys: Callable[[str], Path], tmp_path: Path, mean_is_better: bool
) -> None:
    """The first epoch is replaced by one whose mean with the second is trained, or by one that ruins the mean."""
    trained = toys("words")
    still = {"learning_rate": 1e-9, "average_epochs": 2, "max_epochs": 1}
    recipe = toy_recipe("words").with_settings(still)
    folder = run(recipe, tmp_path / "run", init=None if mean_is_better else trained)
    first = folder / "training" / "epoch-0001.safetensors"
    last = load_file(first)
    good = {name: tensor.float() for name, tensor in weights(trained).items()}
    other = {
        name: 2 * good[name] - tensor if mean_is_better else torch.randn_like(tensor) for name, tensor in last.items()
    }
    save_file(other, first)
    run(recipe.with_settings({"max_epochs": 2}), folder, resume=True)
    before, after = history(folder)
    if mean_is_better:
        assert after["valid_loss"] < 0.5 * before["valid_loss"]
        assert after["valid_bleu"] > 80
        for name, tensor in weights(folder).items():
            torch.testing.assert_close(tensor.float(), good[name], rtol=2e-3, atol=1e-4)
    else:
        assert after["valid_loss"] == pytest.approx(before["valid_loss"], abs=1e-4)
        assert after["valid_bleu"] == pytest.approx(before["valid_bleu"], abs=0.1)

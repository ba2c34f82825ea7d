"""What can go wrong with a run, really done to it: kills, a full disk, a loss that explodes."""

import os
import random
import shutil
import signal
import time
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest

from model.checkpoints.checkpoint import CheckpointError, load_checkpoint, load_classifier
from model.config.section import ConfigError
from model.inference.translate import translate
from model.training import DivergedError
from model.training.train import train
from tests.conftest import PATIENCE, TOY_DATA, toy_recipe, toy_toml
from tests.copies import program, start
from tests.model.training.conftest import full_disk


def command(folder: Path, *options: str) -> list[str]:
    recipe = folder / "toy.toml"
    endless = {"max_epochs": 100_000, "patience": 100_000, "average_epochs": 2, "snapshot_steps": [0, 2, 4]}
    recipe.write_text(toy_toml(batch_tokens=2000, learning_rate=5e-3, warmup_steps=5, **endless))
    places = ["--data-dir", str(TOY_DATA), "--out", str(folder / "run")]
    return ["train", str(recipe), "--device", "cpu", *places, *options]


def wait_until_written(path: Path, after: int, process: ForkServerProcess) -> None:
    deadline = time.monotonic() + PATIENCE
    while not path.exists() or path.stat().st_mtime_ns <= after:
        assert process.is_alive(), "the run ended by itself"
        assert time.monotonic() < deadline, f"{path.name} was not written"
        time.sleep(0.005)


def test_kill_9_at_any_moment_leaves_a_valid_checkpoint_and_a_run_that_resumes(tmp_path: Path) -> None:
    out, moments = tmp_path / "run", random.Random(5)
    history = out / "history.csv"
    epochs = 0
    for signal_number in (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM):
        options, before = (["--resume"], history.stat().st_mtime_ns) if history.exists() else ([], 0)
        process = start(program, command(tmp_path, *options), tmp_path / "said")
        wait_until_written(history, before, process)
        time.sleep(moments.uniform(0, 0.5))  # an epoch takes a tenth of a second, half of it spent writing
        os.kill(process.pid or 0, signal_number)
        process.join(PATIENCE)
        checkpoint = load_checkpoint(out)
        assert translate(checkpoint, "A dog runs.").written
        lines = history.read_text().splitlines()
        assert len(lines) - 1 >= epochs
        epochs = max(len(lines) - 1, 0)
    assert process.exitcode == 0  # the last was asked politely
    assert epochs >= 3  # one at least between two kills
    assert not list(out.rglob(".*"))  # what the killed processes were writing is swept up
    assert sorted(path.name for path in (out / "snapshots").iterdir()) == [
        f"step-{step:06d}.safetensors" for step in (0, 2, 4)
    ]


def test_a_full_disk_ends_the_run_with_a_message_and_keeps_the_old_files(tmp_path: Path) -> None:
    recipe = toy_recipe("words", max_epochs=1)
    train(recipe, data_root=TOY_DATA, out=tmp_path / "run", device="cpu")
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}

    with full_disk(), pytest.raises(CheckpointError, match="could not be written"):
        train(toy_recipe("words", max_epochs=3), data_root=TOY_DATA, out=tmp_path / "run", device="cpu", resume=True)
    after = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    assert after == before
    assert load_checkpoint(tmp_path / "run").config.figures


def test_a_diverging_loss_ends_the_run_and_keeps_the_last_good_checkpoint(tmp_path: Path) -> None:
    recipe = toy_recipe("words", max_epochs=1)
    train(recipe, data_root=TOY_DATA, out=tmp_path / "run", device="cpu")
    kept = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*.safetensors")}
    wild = toy_recipe("words", max_epochs=20, learning_rate=1e30, warmup_steps=1)
    message = (
        r"The loss \(.*\) or its gradient is not finite at step \d+, .* Lower learning_rate \(now .*--precision fp32"
    )
    with pytest.raises(DivergedError, match=message):
        train(wild, data_root=TOY_DATA, out=tmp_path / "run", device="cpu", resume=True)
    assert {path: path.read_bytes() for path in (tmp_path / "run").rglob("*.safetensors")} == kept
    load_checkpoint(tmp_path / "run")


def test_half_precision_without_a_gpu_is_refused(tmp_path: Path) -> None:
    recipe = toy_recipe("words", precision="fp16")
    with pytest.raises(ConfigError, match="needs a CUDA device"):
        train(recipe, data_root=TOY_DATA, out=tmp_path / "run", device="cpu")


def test_a_translator_cannot_start_a_classifier(toy_folder: Path, tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match="translates and does not classify"):
        load_classifier(shutil.copytree(toy_folder, tmp_path / "copy"))

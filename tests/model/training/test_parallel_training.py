"""Data-parallel training by real processes: the same mathematics as one process with the same global batch."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing.context import ForkServerProcess
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file

from model.checkpoints.checkpoint import load_checkpoint
from model.cli.main import main
from tests.conftest import PATIENCE, ROOT, TOY_DATA, toy_toml
from tests.copies import places, program, start


def run(
    folder: Path,
    *,
    processes: int,
    accumulate: int,
    steps: int,
    epochs: int = 2,
    dropout: float = 0.0,
    batch_tokens: int = 300,
    data: Path = TOY_DATA,
    options: Sequence[str] = (),
    launcher: bool = False,
) -> Path:
    """Train in this number of processes; a single one is the process of the test.

    With `launcher` they start as a person starts them. Then each imports the program, which takes most of the time.
    """
    settings = {"epochs": epochs, "accumulate": accumulate, "dropout": dropout, "batch_tokens": batch_tokens}
    arguments = [*command(folder, steps=steps, data=data, **settings), *options]
    if processes == 1:
        assert main(arguments) == 0
        return folder / "out"
    said = launched(arguments, processes) if launcher else copied(arguments, processes, folder / "said")
    assert said.count("Finished at step") == 1  # only the first process speaks
    return folder / "out"


def command(
    folder: Path, *, steps: int, epochs: int, accumulate: int, dropout: float, batch_tokens: int, data: Path
) -> list[str]:
    """The arguments of a run into `folder / "out"`, and the recipe that they name."""
    folder.mkdir(exist_ok=True)
    recipe = folder / "toy.toml"
    settings = {"batch_tokens": batch_tokens, "learning_rate": 2e-3, "warmup_steps": 5, "max_epochs": epochs}
    recipe.write_text(toy_toml(**settings, accumulate=accumulate, max_steps=steps))
    place = ["--device", "cpu", "--data-dir", str(data), "--out", str(folder / "out")]
    return ["train", str(recipe), *place, "--set", f"dropout={dropout}"]


def launched(arguments: list[str], processes: int) -> str:
    """Run the command that a person types; return what it says."""
    launcher = ["-m", "torch.distributed.run", f"--nproc_per_node={processes}", "--standalone"]
    done = subprocess.run(
        [sys.executable, *launcher, "-m", "model", *arguments],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def copied(arguments: list[str], processes: int, said: Path) -> str:
    """Run the command in copies of a process that has imported it; return what they say."""
    team = started(arguments, processes, said)
    for one in team:
        one.join(PATIENCE)
    assert [one.exitcode for one in team] == [0] * processes, said.read_text()[-3000:]
    return said.read_text()


def started(arguments: list[str], processes: int, said: Path) -> list[ForkServerProcess]:
    """Start the command in copies of a process that has imported it, with what a launcher would say to each."""
    said.write_text("")
    return [start(member, arguments, said, **place) for place in places(processes)]


def member(arguments: list[str], said: Path) -> None:
    """One process of a run leaves no thread of the exchange.

    Such a thread that is left when Python ends now and then aborts a run that has succeeded.
    """
    code = program(arguments, said)
    names = [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]  # none but on Linux
    assert not any("gloo" in name for name in names), names
    sys.exit(code)


def state(folder: Path, prefix: str) -> dict[str, torch.Tensor]:
    tensors = load_file(folder / "training" / "state.safetensors")
    return {name: tensor for name, tensor in tensors.items() if name.startswith(prefix)}


@pytest.mark.parametrize("steps", [1, 100_000])
def test_two_processes_compute_the_same_as_one_with_the_same_global_batch(tmp_path: Path, steps: int) -> None:
    one = run(tmp_path / "one", processes=1, accumulate=2, steps=steps)
    two = run(tmp_path / "two", processes=2, accumulate=1, steps=steps, launcher=steps == 1)
    # After the first step Adam's mean is the gradient, times 1 − β₁: compared before it is divided by its own size.
    prefix = "adam.exp_avg." if steps == 1 else "model."
    ours, theirs = state(one, prefix), state(two, prefix)
    assert ours.keys() == theirs.keys()
    assert ours
    for name, tensor in ours.items():
        if steps == 1:
            torch.testing.assert_close(theirs[name], tensor, rtol=1e-4, atol=1e-7)
        else:
            assert (theirs[name] - tensor).norm() <= 1e-3 * tensor.norm() + 1e-5, name
    translated = load_checkpoint(two)
    assert translated.config.figures.keys() == load_checkpoint(one).config.figures.keys()


@pytest.fixture
def alike(tmp_path: Path) -> Path:
    """A corpus of one sentence: every batch is the same."""
    folder = shutil.copytree(TOY_DATA / "toy", tmp_path / "alike" / "toy")
    (folder / "train.en").write_text("the dog sees the bird\n" * 40)
    (folder / "train.de").write_text("der Hund sieht den Vogel\n" * 40)
    return folder.parent


def test_each_process_has_its_own_dropout(tmp_path: Path, alike: Path) -> None:
    # Each takes a batch of its own, and both batches are the same. With one seed for all, the mean of their gradients
    # would be that of the first process.
    settings = {"steps": 1, "dropout": 0.5, "data": alike, "batch_tokens": 70}  # ten rows of seven tokens
    ours = state(run(tmp_path / "one", processes=1, accumulate=1, **settings), "adam.exp_avg.")
    theirs = state(run(tmp_path / "two", processes=2, accumulate=1, **settings), "adam.exp_avg.")
    assert any(not torch.allclose(ours[name], theirs[name], rtol=1e-3, atol=1e-7) for name in ours)


def kill_one(arguments: list[str], processes: int, folder: Path) -> int:
    """Start a run, and kill one of its processes at random after the first epoch. Return the step that was saved."""
    team = started(arguments, processes, folder / "said")
    deadline = time.monotonic() + PATIENCE
    while not (folder / "out" / "history.csv").exists():
        assert time.monotonic() < deadline, (folder / "said").read_text()[-3000:]
        time.sleep(0.01)
    time.sleep(random.random() / 10)
    victim = random.choice(team)
    victim.kill()
    for one in team:
        one.join(PATIENCE)
    assert victim.exitcode == -signal.SIGKILL
    assert all(one.exitcode for one in team), "a process still waits for the dead one"
    with safe_open(folder / "out" / "training" / "state.safetensors", framework="pt") as file:
        return int(json.loads(file.metadata()["progress"])["step"])


def test_a_killed_run_continues_with_any_number_of_processes(tmp_path: Path) -> None:
    """Six batches a step with dropout. One of two processes is killed; three and then one compute what two compute."""
    settings = {"epochs": 1000, "accumulate": 3, "dropout": 0.3, "batch_tokens": 60, "data": TOY_DATA}
    saved = kill_one(command(tmp_path / "changed", steps=10_000, **settings), 2, tmp_path / "changed")
    run(tmp_path / "changed", processes=3, steps=saved + 2, options=["--resume"], **settings)
    changed = run(tmp_path / "changed", processes=1, steps=saved + 4, options=["--resume"], **settings)
    straight = run(tmp_path / "straight", processes=2, steps=saved + 4, **settings)
    ours, theirs = state(straight, "model."), state(changed, "model.")
    assert ours
    # A bias of the keys adds the same to all scores of a row: its gradient is a rounding error, which Adam enlarges.
    learned = {name: tensor for name, tensor in ours.items() if not name.endswith("key_projection.bias")}
    for name, tensor in learned.items():  # another mask or batch in one step moves them by a hundredth
        assert (theirs[name] - tensor).norm() <= 1e-3 * tensor.norm() + 1e-5, name
    rows = [(folder / "history.csv").read_text().splitlines()[-1].split(",") for folder in (straight, changed)]
    assert float(rows[0][2]) == pytest.approx(float(rows[1][2]), abs=2e-5)  # the loss of this epoch
    assert rows[0][5] == rows[1][5]  # BLEU, which the processes measure together


def test_processes_measure_together_what_one_measures(toys: Callable[[str], Path], tmp_path: Path) -> None:
    command = ["evaluate", str(toys("words")), "--corpus", "toy", "--data-dir", str(TOY_DATA), "--device", "cpu"]
    found = []
    for processes in (1, 3):
        said = copied([*command, "--json"], processes, tmp_path / str(processes))
        found += [json.loads(line) for line in said.splitlines() if line.startswith("{")]
    assert len(found) == 2
    assert found[0] == found[1]

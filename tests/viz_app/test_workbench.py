"""Trainings of visitors: one at a time, stopped and gone on with, left when nobody looks, and swept up."""

import gc
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from model.analysis.learning import snapshots_of
from model.opening import open_translator
from viz_app import workbench
from viz_app.shared import JOBS
from viz_app.workbench import Plan, Training

PATIENCE = 120  # seconds for what takes five on a free processor
SMALL = Plan(toy="copy", longest=5, d_model=32, layers=1, heads=2)


def wait_for(training: Training, *, epochs: int) -> int:
    """Look until so many passes are done or it ends; return how many there are."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        going = training.look()
        time.sleep(0.1)
        if passes(training) >= epochs or not going:
            return passes(training)
    raise AssertionError(f"{passes(training)} of {epochs} passes after {PATIENCE} s")


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.fixture(autouse=True)
def nothing_before() -> None:
    """What an earlier test left saves itself first."""
    JOBS.watch("nothing", lambda _report: None, lambda _job: None)
    gc.collect()


def passes(training: Training) -> int:
    try:
        return len(pd.read_csv(training.folder / "history.csv"))
    except (FileNotFoundError, pd.errors.EmptyDataError):
        return 0


def test_a_training_is_stopped_and_goes_on_where_it_was() -> None:
    training = Training(SMALL)
    training.go_on()
    first = wait_for(training, epochs=1)
    training.stop()
    assert training.look() is None
    assert training.saving
    training.go_on()  # too early: it is still writing
    assert training.look() is None
    wait_until(lambda: not training.saving)
    training.go_on()
    assert wait_for(training, epochs=first + 1) > first
    history = pd.read_csv(training.folder / "history.csv")
    assert history["epoch"].tolist() == list(range(1, len(history) + 1))
    assert not training.problem
    training.stop()
    wait_until(lambda: not training.saving)
    assert training.begun
    assert len(snapshots_of(training.folder)) > 1
    assert set(open_translator(training.folder).model.config.kinds) == {"encoder", "decoder", "cross"}


def test_the_second_waits_for_the_first_and_both_are_left_when_nobody_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(workbench, "GRACE", 1.0)
    first, second = Training(SMALL), Training(SMALL)
    first.go_on()
    second.go_on()
    one, two = first.look(), second.look()
    assert one is not None
    assert two is not None
    assert (one.before, two.before) == (0, 1)
    wait_until(lambda: not (first.active or first.saving or second.active))  # looking at neither
    assert not first.problem
    assert not second.folder.exists()


def test_a_training_that_fails_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    training = Training(SMALL)
    (training.data / "corpora" / "copy" / "val.copied").unlink()
    training.go_on()
    wait_for(training, epochs=1)
    assert "There is no val.copied" in training.problem
    assert not training.finished


def test_its_folder_goes_with_it_and_no_room_stays_taken() -> None:
    left = workbench.ROOM._left
    training = Training(SMALL)
    folder = training.data
    assert folder.exists()
    assert workbench.ROOM._left == left - SMALL.room()
    del training
    gc.collect()
    assert not folder.exists()
    assert workbench.ROOM._left == left


@pytest.mark.parametrize("plan", [SMALL, Plan(toy="dates", longest=8, d_model=128, layers=3, heads=8)])
def test_a_plan_takes_no_more_room_than_it_says(plan: Plan) -> None:
    from model.config import VOCAB_SIZES
    from model.network.translators import make_translator
    from model.recipe import load_recipe

    sizes = dict.fromkeys(VOCAB_SIZES["translation"], 512)
    config = load_recipe("toy").with_settings(plan.settings()).model_config(**sizes)
    numbers = sum(p.numel() for p in make_translator(config, pad_id=0).parameters())  # type: ignore[arg-type]
    kept = len(workbench.SNAPSHOTS) + 1 + 2 + 3  # snapshots and the end; the best and the last; weights and Adam's two
    assert 4 * numbers * kept < plan.room() < 3 * 4 * numbers * kept + (4 << 20)


def test_what_killed_servers_left_is_swept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    old, new = tmp_path / "headlight-training-old", tmp_path / "headlight-training-new"
    for folder in (old, new):
        (folder / "run").mkdir(parents=True)
    long_ago = time.time() - 2 * 24 * 3600
    os.utime(old, (long_ago, long_ago))
    workbench.sweep()
    assert (old.exists(), new.exists()) == (False, True)


def test_a_training_that_somebody_looks_at_is_not_swept() -> None:
    training = Training(SMALL)
    long_ago = time.time() - 2 * 24 * 3600
    os.utime(training.data, (long_ago, long_ago))
    training.look()
    workbench.sweep()
    assert training.data.exists()

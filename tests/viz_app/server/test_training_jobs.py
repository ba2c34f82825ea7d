"""Training runs: one per visitor, several at once, stopped and resumed, ended when their visitor leaves."""

import gc
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pandas as pd
import pytest

from model.analysis.learning import list_snapshots
from model.checkpoints.checkpoint import CheckpointError
from model.inference.opening import open_translator
from viz_app.server import training_jobs
from viz_app.server.jobs import Lane, Report
from viz_app.server.presence import Visitor
from viz_app.server.server_state import JOBS
from viz_app.server.temporary import DiskSpace, new_folder
from viz_app.server.training_jobs import EPOCHS, Plan, Training, Trainings

PATIENCE = 120  # seconds for what takes five on a free processor
SMALL = Plan(toy="copy", longest=5, d_model=32, layers=1, heads=2)


class Person(Visitor):
    """A visitor whose page is open until `present` is false."""

    def __init__(self) -> None:
        super().__init__()
        self.present = True

    def here(self) -> bool:
        return self.present


def wait_for(training: Training, *, epochs: int) -> int:
    """Wait until so many passes are done or it ends; return how many there are."""
    wait_until(lambda: passes(training) >= epochs or not training.active)
    return passes(training)


def wait_until_saved(training: Training) -> None:
    wait_until(lambda: not training.saving)


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture
def owner() -> Iterator[Person]:
    """What the visitor of a test trained has ended when the test has."""
    owner = Person()
    yield owner
    owner.present = False
    wait_until(lambda: not any(job.lane == "training" for job in JOBS._jobs.values()))


@pytest.fixture
def endless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Training runs without a process, which continue until they are stopped."""

    def work(training: Training, report: Report) -> None:
        while True:
            report(1, 4)
            time.sleep(0.01)

    monkeypatch.setattr(Training, "_work", work)


def passes(training: Training) -> int:
    try:
        return len(pd.read_csv(training.folder / "history.csv"))
    except (FileNotFoundError, pd.errors.EmptyDataError):
        return 0


def test_a_training_run_stops_resumes_where_it_was_and_reaches_the_limit(
    owner: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    training = Training(SMALL)
    training.start_or_resume(owner)
    first = wait_for(training, epochs=1)
    assert training.job is not None
    steps = pd.read_csv(training.folder / "history.csv")["step"].tolist()
    assert steps, training.problem
    wait_until(lambda: training.job.done >= steps[-1] or not training.active)  # the page gets the progress of each step
    assert training.job.done >= steps[-1]
    assert training.job.steps == pytest.approx(EPOCHS * steps[0], rel=0.1)
    training.stop()
    assert training.saving
    assert not training.active
    training.start_or_resume(owner)  # too early: it is still writing
    assert not training.active
    wait_until(lambda: not training.saving)
    training.start_or_resume(owner)
    assert wait_for(training, epochs=first + 1) > first
    history = pd.read_csv(training.folder / "history.csv")
    assert history["epoch"].tolist() == list(range(1, len(history) + 1))
    assert not training.problem
    monkeypatch.setitem(JOBS.lanes, "training", Lane(width=1, seconds=0.0, each=1))
    wait_until(lambda: not (training.active or training.saving))
    assert "the limit" in training.problem
    assert training.has_state
    assert len(list_snapshots(training.folder)) > 1
    assert set(open_translator(training.folder).model.config.kinds) == {"encoder", "decoder", "cross"}


@pytest.mark.usefixtures("endless")
def test_visitors_train_at_once_on_free_cores_and_one_who_leaves_lets_the_next_start(
    owner: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(JOBS.lanes, "training", Lane(width=2, seconds=PATIENCE, each=1))
    bench, others = Trainings(), [Person(), Person()]
    trainings = [bench.begin(one, SMALL) for one in (owner, *others)]
    jobs = [training.job for training in trainings]
    wait_until(lambda: all(job is not None and job.steps for job in jobs[:2]))  # both go on
    assert jobs[2] is not None
    assert JOBS.place(jobs[2]) == 1
    others[0].present = False
    wait_until(lambda: jobs[2].started is not None)
    assert not trainings[1].problem
    others[1].present = False
    wait_until(lambda: not trainings[2].active)


@pytest.mark.usefixtures("endless")
def test_a_visitor_has_one_training_run_and_finds_it_again(owner: Person) -> None:
    bench, other = Trainings(), Person()
    first = bench.begin(owner, SMALL)
    assert bench.of(owner) is first
    assert bench.of(other) is None
    folder = first.data
    second = bench.begin(owner, SMALL)
    assert bench.of(owner) is second
    assert not first.active
    wait_until_saved(first)
    del first
    gc.collect()
    assert not folder.exists()
    assert second.data.exists()


@pytest.mark.usefixtures("endless")
def test_two_tabs_that_start_at_once_leave_one_training_run(owner: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    bench, go_on, others = Trainings(), Training.start_or_resume, list[threading.Thread]()

    def slowly(training: Training, owner: Person) -> None:
        if not others:  # the second tab comes just now
            others.append(threading.Thread(target=bench.begin, args=(owner, SMALL)))
            others[0].start()
            others[0].join(0.3)
        go_on(training, owner)

    monkeypatch.setattr(Training, "start_or_resume", slowly)
    first = bench.begin(owner, SMALL)
    others[0].join()
    assert bench.of(owner) is not first
    assert bench.of(owner).active
    assert not first.active


@pytest.mark.usefixtures("endless")
def test_abandoned_training_runs_free_their_space_for_others(owner: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_jobs, "DISK", DiskSpace(SMALL.disk_bytes() + 1))
    bench = Trainings()
    left = bench.begin(owner, SMALL)
    left.stop()
    wait_until_saved(left)
    folder = left.data
    del left
    other = Person()
    with pytest.raises(CheckpointError):  # its visitor is still here
        bench.begin(other, SMALL)
    assert bench.of(owner) is not None
    owner.present = False
    bench.begin(other, SMALL)
    assert not folder.exists()
    other.present = False


def test_a_failed_training_run_gives_the_reason(owner: Person) -> None:
    training = Training(SMALL)
    (training.data / "corpora" / "copy" / "val.copied").unlink()
    training.start_or_resume(owner)
    wait_for(training, epochs=1)
    assert "There is no val.copied" in training.problem
    assert not training.finished


def test_a_removed_training_run_removes_its_folder_and_frees_its_space() -> None:
    left = training_jobs.DISK._left
    training = Training(SMALL)
    folder = training.data
    assert folder.exists()
    assert training_jobs.DISK._left == left - SMALL.disk_bytes()
    del training
    gc.collect()
    assert not folder.exists()
    assert training_jobs.DISK._left == left


@pytest.mark.parametrize("plan", [SMALL, Plan(toy="dates", longest=8, d_model=128, layers=3, heads=8)])
def test_a_plan_uses_no_more_space_than_it_reserves(plan: Plan) -> None:
    from model.config.model import VOCAB_SIZES
    from model.config.recipe import load_recipe
    from model.network.translators import make_translator

    sizes = dict.fromkeys(VOCAB_SIZES["translation"], 512)
    config = load_recipe("toy").with_settings(plan.settings()).model_config(**sizes)
    numbers = sum(p.numel() for p in make_translator(config, pad_id=0).parameters())  # type: ignore[arg-type]
    kept = (
        len(training_jobs.SNAPSHOTS) + 1 + 2 + 3
    )  # snapshots and the end; the best and the last; weights and Adam's two
    assert 4 * numbers * kept < plan.disk_bytes() < 3 * 4 * numbers * kept + (4 << 20)


def test_the_progress_is_read_from_the_end_of_a_long_log(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    assert training_jobs.progress_in(log) == (0, 0)
    log.write_text("Reading 10/20\n" + "".join(f"\r 5%|▌   | {n}/1780 [00:21<02:01, loss 0.4]" for n in range(900)))
    assert training_jobs.progress_in(log) == (899, 1780)


def test_a_training_run_is_in_the_folder_of_its_server() -> None:
    assert Training(SMALL).data.parent == new_folder().parent

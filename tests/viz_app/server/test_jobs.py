"""Long work: lanes, places in a queue, estimates, quotas, limits, and the owners of a job."""

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from tests.viz_app.server.test_gate import PATIENCE, until
from viz_app.server.jobs import Job, Jobs, Lane, QuotaError, Report, StoppedError, TooLongError


class Person:
    def __init__(self) -> None:
        self.present = True

    def here(self) -> bool:
        return self.present


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


class Bench:
    """Jobs that run until `go_on` is set; `log` names those that started."""

    def __init__(self, clock: Callable[[], float] = time.monotonic, **lanes: Lane) -> None:
        self.jobs, self.log, self.go_on = Jobs(lanes, clock=clock), list[str](), threading.Event()

    def work(self, name: str) -> Callable[[Report], str]:
        def do(report: Report) -> str:
            self.log.append(name)
            while not self.go_on.is_set():
                report(1, 4)
                time.sleep(0.001)
            return name

        return do

    def ask(self, name: str, owner: Person, *, lane: str = "one") -> Job:
        return self.jobs.ask(name, self.work(name), lane=lane, owner=owner)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viz_app.server.jobs.PULSE", 0.01)
    monkeypatch.setattr("viz_app.server.jobs.REPEAT", 0.01)


@pytest.fixture
def bench() -> Iterator[Bench]:
    bench = Bench(one=Lane(width=1, seconds=PATIENCE), two=Lane(width=2, seconds=PATIENCE))
    yield bench
    bench.go_on.set()


def wait(job: Job) -> object:
    for _ in job.looks():
        pass
    return job.result


def test_a_lane_runs_in_order_and_other_lanes_do_not_wait(bench: Bench) -> None:
    jobs = [bench.ask(name, Person()) for name in "abc"]
    other = bench.ask("d", Person(), lane="two")
    until(lambda: sorted(bench.log) == ["a", "d"])
    assert [bench.jobs.place(job) for job in (*jobs, other)] == [0, 1, 2, 0]
    bench.go_on.set()
    assert [wait(job) for job in jobs] == ["a", "b", "c"]
    assert [name for name in bench.log if name != "d"] == ["a", "b", "c"]


def test_a_lane_runs_as_many_jobs_as_its_width_and_one_per_visitor(bench: Bench) -> None:
    busy, other = Person(), Person()
    first, second = (bench.ask(name, busy, lane="two") for name in "ab")
    third = bench.ask("c", other, lane="two")
    until(lambda: sorted(bench.log) == ["a", "c"])  # the visitor who has two jobs lets the other go first
    bench.go_on.set()
    assert [wait(job) for job in (first, second, third)] == ["a", "b", "c"]


def test_a_visitor_has_no_more_jobs_than_the_quota(bench: Bench) -> None:
    busy = Person()
    for name in "abc":
        bench.ask(name, busy)
    with pytest.raises(QuotaError, match=r"Your limit .* is 3"):
        bench.ask("d", busy)
    bench.ask("a", busy)  # that is theirs already
    bench.ask("d", Person())
    bench.jobs.leave("b", busy)
    bench.ask("e", busy)


def test_one_job_serves_all_visitors_and_ends_when_the_last_one_stops(bench: Bench) -> None:
    one, two = Person(), Person()
    job = bench.ask("a", one)
    assert bench.ask("a", two) is job
    assert bench.jobs.find("a", Person()) is None
    bench.jobs.leave("a", one)
    assert bench.jobs.find("a", one) is None
    assert bench.jobs.find("a", two) is job
    time.sleep(0.02)
    assert not job.finished.is_set()
    bench.jobs.leave("a", two)
    with pytest.raises(StoppedError):
        wait(job)
    again = bench.ask("a", one)
    bench.go_on.set()
    assert wait(again) == "a"


def test_a_visitor_who_leaves_loses_the_place_and_others_move_up(bench: Bench) -> None:
    owners = [Person() for _ in range(3)]
    first, second, third = (bench.ask(name, owner) for name, owner in zip("abc", owners, strict=True))
    until(lambda: bench.log == ["a"])
    assert bench.jobs.place(third) == 2
    owners[1].present = False
    assert second.finished.wait(PATIENCE)
    assert bench.jobs.place(third) == 1
    owners[0].present = False
    assert first.finished.wait(PATIENCE)
    until(lambda: bench.log == ["a", "c"])


def test_a_queue_estimates_when_a_job_starts() -> None:
    clock = Clock()
    bench = Bench(clock, one=Lane(width=1, seconds=PATIENCE))
    for seconds in (40, 50, 60):
        wait(
            bench.jobs.ask(seconds, lambda report, seconds=seconds: clock.advance(seconds), lane="one", owner=Person())
        )
    steps, go_on = [0], threading.Event()

    def work(report: Report) -> None:
        while not go_on.wait(0.001):
            report(steps[0], 4)

    running = bench.jobs.ask("a", work, lane="one", owner=Person())
    waiting, last = (bench.ask(name, Person()) for name in "bc")
    until(lambda: running.first_report is not None)
    assert running.seconds_left() is None
    assert bench.jobs.seconds_until(waiting) == 50  # the middle of the earlier jobs
    clock.advance(30)
    steps[0] = 1  # a quarter of it is done after thirty seconds
    until(lambda: running.done == 1)
    assert running.seconds_left() == 90
    assert bench.jobs.seconds_until(waiting) == 90
    assert bench.jobs.seconds_until(last) == 140
    go_on.set()
    bench.go_on.set()
    wait(last)


def test_the_times_of_earlier_jobs_are_measured() -> None:
    clock, go_on = Clock(), threading.Event()
    jobs = Jobs({"one": Lane(width=1, seconds=PATIENCE)}, clock=clock)
    for seconds in (50, 70, 90):
        wait(jobs.ask(seconds, lambda report, seconds=seconds: clock.advance(seconds), lane="one", owner=Person()))
    job = jobs.ask("b", lambda report: go_on.wait(PATIENCE), lane="one", owner=Person())
    until(lambda: job.started is not None)
    next_one = jobs.ask("c", lambda report: None, lane="one", owner=Person())
    clock.advance(20)
    assert jobs.seconds_until(next_one) == 50  # half of the earlier jobs took more than 70 seconds
    clock.advance(60)
    assert jobs.seconds_until(next_one) == 0
    go_on.set()
    wait(next_one)


def test_a_job_that_takes_too_long_ends_with_a_message() -> None:
    bench = Bench(one=Lane(width=1, seconds=0.03))
    with pytest.raises(TooLongError, match="the limit"):
        wait(bench.ask("a", Person()))


def test_an_error_of_long_work_reaches_the_visitors_who_wait(bench: Bench) -> None:
    def fail(report: Report) -> None:
        raise ValueError("no sentence")

    with pytest.raises(ValueError, match="no sentence"):
        wait(bench.jobs.ask("a", fail, lane="one", owner=Person()))

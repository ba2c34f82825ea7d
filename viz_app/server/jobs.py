"""Long work: a lane for each kind, places in the queue, an estimate, a quota per visitor, a time limit, and Stop.

A job belongs to the visitors who requested it. It continues while one of them is here, on any page, and ends soon after
the last one has left or pressed Stop. A visitor who requests a running job joins it.
"""

import heapq
import statistics
import threading
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Protocol

from viz_app.content.translation import MessageError

__all__ = ["Job", "Jobs", "Lane", "Owner", "QuotaError", "Report", "StoppedError", "TooLongError"]

Report = Callable[[int, int], None]  # (steps done, all steps)
REPEAT = 0.25  # seconds between two looks at the progress
PULSE = 0.5  # seconds between two checks whether somebody still waits for a job in the queue
REMEMBERED = 8  # jobs of a lane; the median of their times is the estimate for the next one


class Owner(Protocol):
    """A visitor."""

    def here(self) -> bool:
        """Whether a page of this visitor is open."""


class StoppedError(Exception):
    """Nobody waits for the job any more."""


class TooLongError(MessageError):
    """The job reached the time limit of its lane. The message names the limit."""


class QuotaError(MessageError):
    """The visitor has reached the number of jobs in this lane. The message names the remedy."""


@dataclass(frozen=True, kw_only=True)
class Lane:
    """The limits of one kind of work."""

    width: int  # jobs at once
    seconds: float  # the time limit of one job
    each: int = 3  # jobs of one visitor, waiting or running; only one of them runs at a time


@dataclass(eq=False, kw_only=True)
class Job:
    """Work for which several visitors may wait."""

    key: Hashable
    lane: str
    clock: Callable[[], float]  # seconds; never runs backwards
    owners: set[Owner] = field(default_factory=set)
    pages: list[tuple[Owner, object]] = field(default_factory=list)  # owner and tab of each page that waits
    started: float | None = None  # on the clock; None in the queue
    done: int = 0
    steps: int = 0
    first_report: tuple[float, int] | None = None  # the time of the first report, and the steps done by then
    result: object = None
    error: BaseException | None = None
    finished: threading.Event = field(default_factory=threading.Event)

    @property
    def wanted(self) -> bool:
        """Whether one of its owners is still here."""
        return any(owner.here() for owner in tuple(self.owners))

    def seconds_left(self) -> float | None:
        """The estimated time until its end, from its own progress; None without progress."""
        if self.first_report is None or self.done <= self.first_report[1]:
            return None
        return (self.clock() - self.first_report[0]) * (self.steps - self.done) / (self.done - self.first_report[1])

    @contextmanager
    def awaited(self, owner: Owner, tab: object) -> Iterator[None]:
        """Note that a page of this visitor, in this tab, waits for the job; see `Jobs.turn_away`."""
        page = (owner, tab)
        self.pages.append(page)
        try:
            yield
        finally:
            self.pages.remove(page)

    def looks(self) -> Iterator["Job"]:
        """The job itself, repeatedly until it has finished.

        Raises:
            Exception: the error of the work.
        """
        while not self.finished.wait(REPEAT):
            yield self
        if self.error is not None:
            raise self.error


class Jobs:
    """All long work of a process. Lanes do not wait for each other. The jobs of a lane run in the order of requests."""

    def __init__(self, lanes: Mapping[str, Lane], *, clock: Callable[[], float] = time.monotonic) -> None:
        self.lanes, self._clock = lanes, clock
        self._changed = threading.Condition()
        self._jobs: dict[Hashable, Job] = {}  # in the order of requests
        self._times = {name: deque[float](maxlen=REMEMBERED) for name in lanes}

    def ask(self, key: Hashable, work: Callable[[Report], object], *, lane: str, owner: Owner) -> Job:
        """Join the job under `key`, or put it at the end of its lane.

        Args:
            key: Names the job.
            work: Does the work. It receives a function and calls it with the steps done and all steps. The call raises
                an exception, which ends the work, if nobody waits any more or the time limit is reached.
            lane: One of `lanes`.
            owner: The visitor who requests it.

        Raises:
            QuotaError: the visitor has too many jobs in this lane.
        """
        with self._changed:
            job = self._jobs.get(key)
            if job is None:
                self._require_quota(lane, owner)
                job = self._jobs[key] = Job(key=key, lane=lane, clock=self._clock)
                threading.Thread(target=self._run, args=(job, work), name=f"{lane} job", daemon=True).start()
            job.owners.add(owner)
            return job

    def find(self, key: Hashable, owner: Owner) -> Job | None:
        """The unfinished job under `key`, if this visitor requested it."""
        with self._changed:
            job = self._jobs.get(key)
            return job if job is not None and owner in job.owners else None

    def leave(self, key: Hashable, owner: Owner) -> None:
        """Stop: this visitor does not wait for the job any more, in any tab."""
        with self._changed:
            if key in self._jobs:
                self._jobs[key].owners.discard(owner)
                self._changed.notify_all()

    def turn_away(self, key: Hashable, owner: Owner, tab: object) -> None:
        """This tab does not wait for the job any more. The job continues if another tab of the visitor waits for it."""
        with self._changed:
            job = self._jobs.get(key)
            elsewhere = job is not None and any(who is owner and where is not tab for who, where in tuple(job.pages))
        if not elsewhere:
            self.leave(key, owner)

    def place(self, job: Job) -> int:
        """The place in the queue: 1 for the job that starts next in its lane, 0 for a job that runs."""
        with self._changed:
            return len(self._ahead_of(job)) + 1 if job.started is None else 0

    def seconds_until(self, job: Job) -> float | None:
        """The estimated time until a job starts, from the jobs before it; None without an estimate."""
        with self._changed:
            lane = self.lanes[job.lane]
            slots = [self._rest_of(other) for other in self._running(job.lane)]
            ahead = [self._usual(job.lane) for _ in self._ahead_of(job)]
        known = [seconds for seconds in (*slots, *ahead) if seconds is not None]
        if len(known) < len(slots) + len(ahead):
            return None
        ends = sorted([*known[: len(slots)], *[0.0] * (lane.width - len(slots))])
        for seconds in known[len(slots) :]:
            heapq.heapreplace(ends, ends[0] + seconds)
        return ends[0]

    def counts(self) -> dict[tuple[str, str], int]:
        """(lane, "waiting" or "running") → the number of jobs."""
        with self._changed:
            found = {(lane, "waiting"): len(self._waiting(lane)) for lane in self.lanes}
            return found | {(lane, "running"): len(self._running(lane)) for lane in self.lanes}

    def _require_quota(self, lane: str, owner: Owner) -> None:
        most = self.lanes[lane].each
        if sum(job.lane == lane and owner in job.owners for job in self._jobs.values()) >= most:
            raise QuotaError(
                "Your limit for computations of this kind is {most}. Stop one, or wait until one has finished.",
                most=most,
            )

    def _running(self, lane: str) -> list[Job]:
        return [job for job in self._jobs.values() if job.lane == lane and job.started is not None]

    def _waiting(self, lane: str) -> list[Job]:
        return [job for job in self._jobs.values() if job.lane == lane and job.started is None and job.owners]

    def _ahead_of(self, job: Job) -> list[Job]:
        waiting = self._waiting(job.lane)
        return waiting[: waiting.index(job)] if job in waiting else []

    def _usual(self, lane: str) -> float | None:
        return statistics.median(self._times[lane]) if self._times[lane] else None

    def _rest_of(self, job: Job) -> float | None:
        usual = self._usual(job.lane)
        if (left := job.seconds_left()) is not None or usual is None or job.started is None:
            return left
        return max(usual - (self._clock() - job.started), 0.0)

    def _run(self, job: Job, work: Callable[[Report], object]) -> None:
        try:
            self._wait_for_turn(job)
            job.result = work(partial(self._report, job))
            self._times[job.lane].append(self._clock() - (job.started or 0.0))
        except StoppedError:
            job.error = StoppedError()  # without the frames of the work and the objects that they hold
        except BaseException as error:
            job.error = error
        finally:
            with self._changed:
                del self._jobs[job.key]
                job.finished.set()
                self._changed.notify_all()

    def _wait_for_turn(self, job: Job) -> None:
        with self._changed:
            while True:
                if not job.wanted:
                    raise StoppedError
                if self._may_start(job):
                    job.started = self._clock()
                    return
                self._changed.wait(PULSE)

    def _may_start(self, job: Job) -> bool:
        running = self._running(job.lane)
        busy = {owner for other in running for owner in other.owners}
        first = next((other for other in self._waiting(job.lane) if other.owners - busy), None)
        return first is job and len(running) < self.lanes[job.lane].width

    def _report(self, job: Job, done: int, steps: int) -> None:
        job.done, job.steps = done, steps
        if steps and job.first_report is None:
            job.first_report = self._clock(), done
        if not job.wanted:
            raise StoppedError
        limit = self.lanes[job.lane].seconds
        if self._clock() - (job.started or 0.0) > limit:
            raise TooLongError(
                "The computation was stopped. It reached the limit of {minutes} min.", minutes=f"{limit / 60:g}"
            )

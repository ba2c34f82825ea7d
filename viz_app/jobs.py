"""Long work: done once for all who ask for the same, one after the other, and left when nobody waits for it."""

import threading
from collections.abc import Callable, Generator, Hashable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Generic, TypeVar

__all__ = ["Job", "Jobs", "Report"]

Result = TypeVar("Result")
Report = Callable[[int, int], None]  # (steps done, steps in all)
REPEAT = 0.25  # seconds from one look at the progress to the next
GRACE = 5.0  # seconds without anybody who waits, after which a job is left


class LeftError(Exception):
    """Nobody waits for the job any more."""


@dataclass(eq=False)
class Job(Generic[Result]):
    """Work that many may wait for."""

    work: Callable[[Report], Result]
    before: int = 0  # jobs that are to be done first
    done: int = 0
    steps: int = 0
    watchers: int = 0
    error: BaseException | None = None
    finished: threading.Event = field(default_factory=threading.Event)
    watched: threading.Condition = field(default_factory=threading.Condition)

    def progress(self) -> Generator["Job[Result]"]:
        """The job itself, again and again, until it is finished.

        Raises:
            Exception: what the work raised.
        """
        with self._watching():
            while not self.finished.wait(REPEAT):
                yield self
        if self.error is not None:
            raise self.error

    @contextmanager
    def _watching(self) -> Iterator[None]:
        with self.watched:
            self.watchers += 1
            self.watched.notify_all()
        try:
            yield
        finally:
            with self.watched:
                self.watchers -= 1

    def run(self) -> None:
        """Do the work, as long as somebody waits for it."""

        def report(done: int, steps: int) -> None:
            self.done, self.steps = done, steps
            with self.watched:
                if not self.watched.wait_for(lambda: self.watchers, GRACE):
                    raise LeftError

        try:
            self.work(report)
        except BaseException as error:
            self.error = error


class Jobs:
    """One job at a time, in the order in which they were asked for."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[Hashable, Job[object]] = {}  # in order; the first is being done

    def watch(self, key: Hashable, work: Callable[[Report], object], tell: Callable[[Job[object]], None]) -> None:
        """Ask for a job and wait for its end.

        Args:
            key: What it is.
            work: See `ask`.
            tell: Called now and then with the job; what it raises ends the waiting, not the job.

        Raises:
            Exception: what the work raised.
        """
        while True:
            try:
                with closing(self.ask(key, work).progress()) as looks:
                    for job in looks:
                        tell(job)
                return
            except LeftError:  # just as it was asked for
                continue

    def ask(self, key: Hashable, work: Callable[[Report], object]) -> Job[object]:
        """The job under `key`; it is begun, or put at the end of the queue, where nobody has asked for it yet.

        Args:
            key: What it is.
            work: Does it, and calls what it is given with the steps done and the steps in all after each of them.
        """
        with self._lock:
            if key not in self._jobs:
                self._jobs[key] = Job(work, before=len(self._jobs))
                if len(self._jobs) == 1:
                    threading.Thread(target=self._run_all, name="long work", daemon=True).start()
            return self._jobs[key]

    def _run_all(self) -> None:
        while True:
            with self._lock:
                key, job = next(iter(self._jobs.items()))
            job.run()
            with self._lock:
                del self._jobs[key]
                for other in self._jobs.values():
                    other.before -= 1
                job.finished.set()
                if not self._jobs:
                    return

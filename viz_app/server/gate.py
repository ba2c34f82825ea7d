"""A gate that lets as many threads run as there are cores, in the order in which they came."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Gate"]

PATIENCE = 0.3  # seconds that a visitor waits before the first message
REPEAT = 0.5  # seconds between two messages
SLICE = 0.25  # seconds inside without a break, so that a short page runs in one turn


def ignore(_: int) -> None: ...


class Gate:
    """Lets a few threads run at once. Forty threads at once would slow each other down and do less work in total.

    A thread inside may go `outside` for a while, to wait for another thread or to let others run.
    """

    def __init__(self, width: int) -> None:
        self._free = width
        self._lock = threading.Lock()
        self._queue: deque[threading.Event] = deque()  # set when its thread may enter
        self._thread = threading.local()

    @property
    def waiting(self) -> int:
        """The number of threads that wait."""
        return len(self._queue)

    @contextmanager
    def inside(self, on_wait: Callable[[int], None] = ignore, *, first: bool = False) -> Iterator[None]:
        """Wait, enter, and leave at the end. A thread that is already inside just continues.

        Args:
            on_wait: Called from time to time with the number of threads before this one. An exception in it ends the
                waiting.
            first: Wait at the head of the queue. This is for the work of a page that has waited already and stays
                outside until the work is done.
        """
        if self._is_inside():
            yield
            return
        self._enter(on_wait, first=first)
        try:
            yield
        finally:
            if self._is_inside():
                self._leave()

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Leave, and at the end enter again from the head of the queue. A thread outside just continues.

        A thread that was inside has already waited once, and little of its work is left. After an exception it stays
        outside, because nothing is left to do inside.
        """
        if not self._is_inside():
            yield
            return
        self._leave()
        yield
        self._enter(ignore, first=True)

    def give_way(self) -> None:
        """Between two steps of long work: let the threads that wait go first."""
        if self._queue and self._is_inside() and time.monotonic() - self._thread.since > SLICE:
            self._leave()
            self._enter(ignore)

    def _is_inside(self) -> bool:
        return getattr(self._thread, "inside", False)

    def _enter(self, on_wait: Callable[[int], None], *, first: bool = False) -> None:
        turn = threading.Event()
        with self._lock:
            if self._free:
                self._free -= 1
                turn.set()
            elif first:
                self._queue.appendleft(turn)
            else:
                self._queue.append(turn)
        try:
            patience = PATIENCE
            while not turn.wait(patience):
                patience = REPEAT
                on_wait(self._before(turn))
        except BaseException:
            with self._lock:
                if turn in self._queue:
                    self._queue.remove(turn)
                else:
                    self._let_next_in()
            raise
        self._thread.inside, self._thread.since = True, time.monotonic()

    def _before(self, turn: threading.Event) -> int:
        with self._lock:
            return self._queue.index(turn) if turn in self._queue else 0

    def _leave(self) -> None:
        self._thread.inside = False
        with self._lock:
            self._let_next_in()

    def _let_next_in(self) -> None:
        """Give the place of a thread that leaves to the first thread in the queue."""
        if self._queue:
            self._queue.popleft().set()
        else:
            self._free += 1

"""A gate as wide as the cores: who comes first goes first, and who waits reads how many are before."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["Gate"]

PATIENCE = 0.3  # seconds that a person waits without a word
REPEAT = 0.5  # seconds from one word to the next
SLICE = 0.25  # seconds inside, before which nobody is asked to let others go first: a short page is done in one turn


def say_nothing(_: int) -> None: ...


class Gate:
    """Lets a few threads through at once. Forty that run at once are in one another's way and get less done.

    A thread that is inside may go `outside` for a while, to wait for another or to let others go first.
    """

    def __init__(self, width: int) -> None:
        self._free = width
        self._lock = threading.Lock()
        self._queue: deque[threading.Event] = deque()  # set for the one that is let in
        self._thread = threading.local()

    @property
    def waiting(self) -> int:
        """How many wait to be let in."""
        return len(self._queue)

    @contextmanager
    def inside(self, tell: Callable[[int], None] = say_nothing) -> Iterator[None]:
        """Wait to be let in, and leave at the end. Inside already, nothing happens.

        Args:
            tell: Called now and then while it waits, with the number of threads before this one. What it raises ends
                the waiting.
        """
        if self._is_inside():
            yield
            return
        self._enter(tell)
        try:
            yield
        finally:
            if self._is_inside():
                self._leave()

    @contextmanager
    def outside(self) -> Iterator[None]:
        """Leave, and wait at the head of the queue at the end. Outside already, nothing happens.

        Who was inside before has waited once, and little is left to do. After an exception it stays outside: there is
        nothing left to do inside.
        """
        if not self._is_inside():
            yield
            return
        self._leave()
        yield
        self._enter(say_nothing, first=True)

    def give_way(self) -> None:
        """Between two pieces of long work: let those go first who wait."""
        if self._queue and self._is_inside() and time.monotonic() - self._thread.since > SLICE:
            self._leave()
            self._enter(say_nothing)

    def _is_inside(self) -> bool:
        return getattr(self._thread, "inside", False)

    def _enter(self, tell: Callable[[int], None], *, first: bool = False) -> None:
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
                tell(self._before(turn))
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
        """Hand the place of one that leaves to the first in the queue."""
        if self._queue:
            self._queue.popleft().set()
        else:
            self._free += 1

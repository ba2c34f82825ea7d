"""Work that many threads request at the same time is done in batches."""

import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, TypeVar

__all__ = ["Batches"]

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclass(frozen=True, kw_only=True)
class Request:
    """What one thread waits for."""

    item: Any
    turn: threading.Event = field(default_factory=threading.Event)  # set: its result is there, or its thread computes
    result: Future[Any] = field(default_factory=Future)


class Batches:
    """One thread of a group computes for all that wait. What is requested in the meantime is the next batch.

    A thread that finds nobody computing starts at once, so nobody waits for a batch to fill.
    """

    def __init__(self, *, most: int, waiting: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        """
        Args:
            most: The limit for the items of a batch.
            waiting: A context that is entered while another thread computes.
        """
        self._most, self._waiting = most, waiting
        self._lock = threading.Lock()
        # Of each group for which a thread computes: what no thread computes yet.
        self._requests: dict[Hashable, list[Request]] = {}

    def ask(self, group: Hashable, item: Item, compute: Callable[[Sequence[Item]], Sequence[Result]]) -> Result:
        """Wait until another thread has computed an item, or compute it together with those of threads that wait.

        If a batch fails, each of its items is computed alone, so a thread gets only the exception of its own item.

        Args:
            group: Only items of the same group are computed together.
            item: What to compute.
            compute: Returns one result for each item. All calls with the same group do the same.
        """
        mine = Request(item=item)
        with self._lock:
            is_busy = group in self._requests
            self._requests.setdefault(group, []).append(mine)
        if is_busy:
            with self._waiting():
                mine.turn.wait()
        if not mine.result.done():
            self._compute(group, compute)
        result: Result = mine.result.result()
        return result

    def _compute(self, group: Hashable, compute: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
        """Compute the first requests of a group, then let the next thread compute."""
        with self._lock:
            waiting = self._requests[group]
            batch, waiting[:] = waiting[: self._most], waiting[self._most :]
        fulfil(batch, compute)
        with self._lock:
            if not waiting:
                del self._requests[group]
            for request in (*batch, *waiting[:1]):
                request.turn.set()


def fulfil(batch: Sequence[Request], compute: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
    """Set the result of each request, or its exception."""
    try:
        results = list(zip(batch, compute([request.item for request in batch]), strict=True))
    except BaseException as error:
        if len(batch) == 1:
            batch[0].result.set_exception(error)
        else:
            for request in batch:
                fulfil([request], compute)
        return
    for request, result in results:
        request.result.set_result(result)

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


@dataclass(frozen=True, kw_only=True, eq=False)
class Request:
    """What one thread waits for."""

    group: Hashable
    item: Any
    turn: threading.Event = field(default_factory=threading.Event)  # set: its result is there, or its thread computes
    result: Future[Any] = field(default_factory=Future)


class Batches:
    """One thread computes for all that wait. What is requested in the meantime is the next batch.

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
        self._requests: list[Request] = []  # that no thread computes yet
        self._busy = False

    def ask(self, group: Hashable, item: Item, compute: Callable[[Sequence[Item]], Sequence[Result]]) -> Result:
        """The result for an item. All threads of a batch get the exception of its computation.

        Args:
            group: Only items with the same group are computed together.
            item: What to compute.
            compute: Returns one result for each item. All calls with the same group do the same.
        """
        mine = Request(group=group, item=item)
        with self._lock:
            self._requests.append(mine)
            was_busy, self._busy = self._busy, True
        if was_busy:
            with self._waiting():
                mine.turn.wait()
        if not mine.result.done():
            self._compute(group, compute)
        result: Result = mine.result.result()
        return result

    def _compute(self, group: Hashable, compute: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
        """Compute the first requests of this group, among them the first of all, then let the next thread compute."""
        with self._lock:
            batch = [request for request in self._requests if request.group == group][: self._most]
            self._requests = [request for request in self._requests if request not in batch]
        try:
            for request, result in zip(batch, compute([request.item for request in batch]), strict=True):
                request.result.set_result(result)
        except BaseException as error:
            for request in batch:
                request.result.set_exception(error)
        with self._lock:
            self._busy = bool(self._requests)
            for request in (*batch, *self._requests[:1]):
                request.turn.set()

"""A cache that is bounded in bytes. The results that were used last stay."""

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from concurrent.futures import Future
from contextlib import AbstractContextManager, nullcontext
from dataclasses import is_dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np
import pandas as pd

__all__ = ["Cache", "read_only", "size_of"]

Result = TypeVar("Result")
ATOMS = frozenset((str, bytes, int, float, bool, type(None)))


class Cache:
    """Results by key. A result that many threads request at the same time is computed once.

    All threads get the same object, so nobody should be able to change it; see `read_only`.
    """

    def __init__(
        self,
        *,
        capacity: int,
        largest: int | None = None,
        size: Callable[[object], int] | None = None,
        waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> None:
        """
        Args:
            capacity: The limit for all results together, in bytes.
            largest: The limit for one result, in bytes; a larger one is returned and not kept. None: the latest
                result is always kept, even if it is the only one that fits.
            size: Returns the bytes of a result.
            waiting: A context that is entered while another thread computes the result.
        """
        self._capacity, self._largest, self._waiting = capacity, largest, waiting
        self._size_of = size or size_of
        self._lock = threading.Lock()
        self._kept: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()  # the latest used is the last
        self._pending: dict[Hashable, Future[object]] = {}
        self._size = 0

    @property
    def size(self) -> int:
        """The bytes of all results that are kept."""
        return self._size

    def __len__(self) -> int:
        return len(self._kept)

    def get(self, key: Hashable, compute: Callable[[], Result]) -> Result:
        """The result that is kept under `key`, else that of `compute`. All threads that wait get its exception."""
        while True:
            with self._lock:
                if key in self._kept:
                    self._kept.move_to_end(key)
                    return cast(Result, self._kept[key][0])
                others = self._pending.get(key)
                if others is None:
                    self._pending[key] = mine = Future[object]()
            if others is None:
                return self._fulfil(key, mine, compute)
            with self._waiting():
                error = others.exception()
            if error is None:
                return cast(Result, others.result())
            if isinstance(error, Exception):
                raise error
            # The other visitor left, so this thread computes the result.

    def _fulfil(self, key: Hashable, mine: Future[object], compute: Callable[[], Result]) -> Result:
        try:
            result = compute()
        except BaseException as error:
            with self._lock:
                del self._pending[key]
            mine.set_exception(error)
            raise
        with self._lock:
            self._keep(key, result)
            del self._pending[key]
        mine.set_result(result)
        return result

    def _keep(self, key: Hashable, result: object) -> None:
        size = self._size_of(result) + size_of(key)
        if self._largest is not None and size > self._largest:
            return
        self._kept[key] = result, size
        self._size += size
        while self._size > self._capacity and len(self._kept) > 1:
            _, (_, freed) = self._kept.popitem(last=False)
            self._size -= freed

    def peek(self, key: Hashable) -> object | None:
        """The result that is kept under `key`; None without one."""
        with self._lock:
            if key not in self._kept:
                return None
            self._kept.move_to_end(key)
            return self._kept[key][0]


def read_only(value: Result) -> Result:
    """The same value with read-only arrays. An array that is a view of a larger one becomes a copy.

    It also changes arrays inside dataclasses, dictionaries, tuples and lists. All other values stay unchanged.
    """
    kind: Any = type(value)
    given: Any = value
    changed: Any = value
    if kind in ATOMS:
        return value
    if kind is np.ndarray:
        changed = given if given.base is None else given.copy()
        changed.setflags(write=False)
    elif kind is dict:
        changed = {name: read_only(part) for name, part in given.items()}
    elif kind in (tuple, list):
        parts = [read_only(part) for part in given]
        if any(new is not old for new, old in zip(parts, given, strict=True)):
            changed = kind(parts)
    elif is_dataclass(kind):
        new_parts = {name: new for name, old in vars(given).items() if (new := read_only(old)) is not old}
        changed = replace(given, **new_parts) if new_parts else value
    return cast(Result, changed)


def size_of(value: object) -> int:
    """The approximate bytes of a value with everything that it contains."""
    kind: Any = type(value)
    given: Any = value
    own = sys.getsizeof(value)
    if kind in ATOMS:
        return own
    if kind is np.ndarray:
        return own if given.base is None else own + int(given.nbytes)
    if kind is pd.DataFrame:
        return int(given.memory_usage(deep=True).sum()) + 1024
    if kind is dict:
        return own + sum(size_of(name) + size_of(part) for name, part in given.items())
    if kind in (tuple, list, frozenset, set):
        return own + sum(map(size_of, given))
    if is_dataclass(kind):
        return own + sys.getsizeof(vars(given)) + sum(map(size_of, vars(given).values()))
    return own

"""The store: small records that all processes of a server share, such as classes. Each of them expires.

`HEADLIGHT_STORE` names it: nothing for the memory of this process, a file for the processes of one computer, or
`redis://…` for those of several computers. It has one operation, `Store.change`.
"""

import json
import logging
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from viz_app.content.translation import N_, Message, MessageError

__all__ = ["Kind", "Records", "Store", "StoreError", "shared_store"]

Result = TypeVar("Result")
LOG = logging.getLogger("headlight")
PAUSE = 5.0  # seconds after a failure in which nobody tries again, so that no page waits for a store that is gone
NO_STORE = "none"  # `deploy/serve.py` says so where other computers have processes too
FAILURE = N_(
    "Classes and codes do not work now: the store {place} gave the error “{problem}”. Everything else works. Whoever "
    "runs this server can start the store again, or correct HEADLIGHT_STORE."
)
WITHOUT = N_(
    "This server has several computers without a common store, so it has no classes and no codes. Set HEADLIGHT_STORE "
    "on each of them to the address of a Redis or Valkey server, such as redis://10.0.0.1:6379."
)
PACKAGE = N_(
    "Classes and codes do not work: HEADLIGHT_STORE is the address of a Redis server, and the package for it is not "
    "installed. Install it with: pip install redis"
)


class StoreError(MessageError):
    """The store cannot be used now. The message says which one, why, and the remedy."""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of records. A record has named fields with JSON values.

    Attributes:
        name: Different for each kind.
        most: Records at the same time. The one that would expire first is removed first.
        seconds: A record expires after this time without a write.
    """

    name: str
    most: int
    seconds: float


class Records(ABC):
    """What one change of the store reads, and what it writes at its end. Reads see the state before the change.

    Args:
        now: The time of the change in seconds since 1970.
    """

    def __init__(self, now: float) -> None:
        self.now = now
        self.written: dict[tuple[Kind, str], dict[str, str | None] | None] = {}  # None: the record is removed

    @abstractmethod
    def read(self, kind: Kind, key: str, field: str) -> str | None:
        """The JSON text of a field; None without one."""

    @abstractmethod
    def read_all(self, kind: Kind, key: str) -> dict[str, str]:
        """All fields of a record with their JSON texts; none for a record that does not exist."""

    @abstractmethod
    def count(self, kind: Kind, key: str) -> int:
        """The number of fields of a record."""

    def get(self, kind: Kind, key: str, field: str) -> Any:
        """The value of a field; None without one."""
        text = self.read(kind, key, field)
        return None if text is None else json.loads(text)

    def all(self, kind: Kind, key: str) -> dict[str, Any]:
        """All fields of a record with their values."""
        return {field: json.loads(text) for field, text in self.read_all(kind, key).items()}

    def put(self, kind: Kind, key: str, fields: Mapping[str, object]) -> None:
        """Write some fields of a record, which then expires later. None removes a field."""
        texts = {field: None if value is None else json.dumps(value) for field, value in fields.items()}
        self.written[kind, key] = (self.written.get((kind, key)) or {}) | texts

    def remove(self, kind: Kind, key: str) -> None:
        """Remove a record."""
        self.written[kind, key] = None


class Store(ABC):
    """Where the records are.

    Args:
        place: What a message calls it.
        errors: The exceptions of a store that cannot be used.
    """

    def __init__(self, place: str, errors: tuple[type[Exception], ...]) -> None:
        self.place, self._errors = place, errors
        self._lock = threading.Lock()
        self._failure: Message | None = None
        self._again = 0.0  # the time of the next attempt after a failure

    def change(self, work: Callable[[Records], Result]) -> Result:
        """Read and write as if nobody else used the store meanwhile.

        Args:
            work: Reads first, then writes. It may be called several times, until nobody has interfered. If it raises
                an exception, nothing is written.

        Raises:
            StoreError: the store cannot be used.
        """
        failure = self._failure
        if failure and (time.monotonic() < self._again or not self._lock.acquire(blocking=False)):
            raise StoreError(failure)  # another thread tries, or has just tried
        if not failure:
            self._lock.acquire()
        try:
            result = self._attempt(work)
            self._failure = None
            return result
        except self._errors as error:
            known = self._failure
            problem = str(error).strip(" .") or type(error).__name__
            self._failure = Message(FAILURE, place=self.place, problem=problem)
            self._again = time.monotonic() + PAUSE
            if known is None:
                LOG.warning("%s", self._failure)
            raise StoreError(self._failure) from error
        finally:
            self._lock.release()

    @abstractmethod
    def _attempt(self, work: Callable[[Records], Result]) -> Result:
        """Do a change, alone in this process."""


class NoStore(Store):
    """In place of a store where one is missing.

    Args:
        reason: Why, and the remedy.
    """

    def __init__(self, reason: str) -> None:
        super().__init__("", ())
        self._reason = reason

    def _attempt(self, work: Callable[[Records], Result]) -> Result:
        raise StoreError(self._reason)


@cache
def shared_store() -> Store:
    """The store of this server."""
    from viz_app.server.sqlite_store import MEMORY, SqliteStore

    place = os.environ.get("HEADLIGHT_STORE", "")
    if place == NO_STORE:
        return NoStore(WITHOUT)
    if "://" not in place:
        return SqliteStore(place or MEMORY)
    try:
        from viz_app.server.redis_store import RedisStore
    except ImportError:
        return NoStore(PACKAGE)
    return RedisStore(place)

"""The store: small records that all processes of a server share, such as classes. Each of them expires.

`HEADLIGHT_STORE` names it: nothing for the memory of this process, a file for the processes of one computer, or
`redis://…` for those of several computers. It has one operation, `Store.change`. The memory and the file are SQLite.
"""

import json
import logging
import os
import sqlite3
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from viz_app.content.translation import N_, Message, MessageError

__all__ = ["MEMORY", "Kind", "Records", "SqliteStore", "Store", "StoreError", "shared_store"]

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

MEMORY = ":memory:"
SQLITE_PATIENCE = 5.0  # seconds to wait for another process, which writes within milliseconds
# In WAL mode, nobody who reads waits for the disk, and a process that is killed loses nothing that it has written.
OPENING = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA foreign_keys = ON;
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS record (
    id INTEGER PRIMARY KEY, kind TEXT NOT NULL, key TEXT NOT NULL, expires REAL NOT NULL, UNIQUE (kind, key)
);
CREATE INDEX IF NOT EXISTS by_time ON record (kind, expires);
CREATE TABLE IF NOT EXISTS field (
    record INTEGER NOT NULL REFERENCES record ON DELETE CASCADE, name TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (record, name)
) WITHOUT ROWID;
COMMIT;
"""
FIELDS = "FROM field JOIN record ON record = id WHERE kind = ? AND key = ? AND expires > ?"


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


class SqliteRecords(Records):
    def __init__(self, connection: sqlite3.Connection, now: float) -> None:
        super().__init__(now)
        self._run = connection.execute

    def read(self, kind: Kind, key: str, field: str) -> str | None:
        row = self._run(f"SELECT value {FIELDS} AND name = ?", (kind.name, key, self.now, field)).fetchone()
        return row[0] if row else None

    def read_all(self, kind: Kind, key: str) -> dict[str, str]:
        return dict(self._run(f"SELECT name, value {FIELDS}", (kind.name, key, self.now)))

    def count(self, kind: Kind, key: str) -> int:
        return int(self._run(f"SELECT count(*) {FIELDS}", (kind.name, key, self.now)).fetchone()[0])

    def write(self) -> None:
        """Write everything, and remove what has expired or is too much."""
        self._run("DELETE FROM record WHERE expires <= ?", (self.now,))
        for (kind, key), fields in self.written.items():
            if fields is None:
                self._run("DELETE FROM record WHERE kind = ? AND key = ?", (kind.name, key))
            else:
                self._write_fields(kind, key, fields)
        for kind in {kind for kind, _ in self.written}:
            surplus = "SELECT id FROM record WHERE kind = ? ORDER BY expires DESC LIMIT -1 OFFSET ?"
            self._run(f"DELETE FROM record WHERE id IN ({surplus})", (kind.name, kind.most))

    def _write_fields(self, kind: Kind, key: str, fields: dict[str, str | None]) -> None:
        ((record,),) = self._run(
            "INSERT INTO record (kind, key, expires) VALUES (?, ?, ?) "
            "ON CONFLICT DO UPDATE SET expires = excluded.expires RETURNING id",
            (kind.name, key, self.now + kind.seconds),
        ).fetchall()
        for name, value in fields.items():
            if value is None:
                self._run("DELETE FROM field WHERE record = ? AND name = ?", (record, name))
            else:
                self._run("INSERT OR REPLACE INTO field VALUES (?, ?, ?)", (record, name, value))


class SqliteStore(Store):
    """See `Store`.

    Args:
        path: The file, or `MEMORY`.
        clock: Returns the time in seconds.
    """

    def __init__(self, path: str, *, clock: Callable[[], float] = time.time) -> None:
        super().__init__(path, (sqlite3.Error,))
        self._clock = clock
        self._connection: sqlite3.Connection | None = None

    def _connect(self) -> sqlite3.Connection:
        found = sqlite3.connect(self.place, timeout=SQLITE_PATIENCE, isolation_level=None, check_same_thread=False)
        deadline = time.monotonic() + SQLITE_PATIENCE
        while True:
            try:
                found.executescript(OPENING)
                return found
            except sqlite3.Error as error:
                # Processes that make the file at the same time do not wait for each other.
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    found.close()
                    raise
            time.sleep(0.01)

    def _attempt(self, work: Callable[[Records], Result]) -> Result:
        connection = self._connection = self._connection or self._connect()
        connection.execute("BEGIN IMMEDIATE")
        try:
            records = SqliteRecords(connection, self._clock())
            result = work(records)
            records.write()
            connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):  # some errors have already done it
                connection.execute("ROLLBACK")
            raise
        return result


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

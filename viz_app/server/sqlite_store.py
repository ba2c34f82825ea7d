"""A store in a file for the processes of one computer, or in the memory of one process (SQLite)."""

import sqlite3
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from viz_app.server.store import Kind, Records, Store

__all__ = ["MEMORY", "SqliteStore"]

Result = TypeVar("Result")
MEMORY = ":memory:"
PATIENCE = 5.0  # seconds to wait for another process, which writes within milliseconds
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
        found = sqlite3.connect(self.place, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
        deadline = time.monotonic() + PATIENCE
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

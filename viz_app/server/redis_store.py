"""A store in a Redis or Valkey server, for the processes of several computers.

A record is a hash. A sorted set of each kind has the keys of its records by the time when they expire. A change
watches what it reads, and is done again if somebody else has written that meanwhile
(https://redis.io/docs/latest/develop/using-commands/transactions/).
"""

import re
import time
from collections.abc import Callable
from typing import Any, TypeVar

from redis import Redis, RedisError, WatchError
from redis.backoff import NoBackoff
from redis.retry import Retry

from viz_app.server.store import Kind, Records, Store

__all__ = ["RedisStore"]

Result = TypeVar("Result")
PATIENCE = 1.0  # seconds for one answer; a server beside us needs less than a millisecond
ATTEMPTS = 200  # each further one means that another process has finished a change meanwhile


class AddressError(Exception):
    """The address has another form than those of Redis."""


class RedisRecords(Records):
    def __init__(self, pipe: Any) -> None:
        super().__init__(time.time())
        self._pipe = pipe

    def _watched(self, kind: Kind, key: str) -> str:
        self._pipe.watch(named(kind, key))
        return named(kind, key)

    def read(self, kind: Kind, key: str, field: str) -> str | None:
        text: str | None = self._pipe.hget(self._watched(kind, key), field)
        return text

    def read_all(self, kind: Kind, key: str) -> dict[str, str]:
        return dict(self._pipe.hgetall(self._watched(kind, key)))

    def count(self, kind: Kind, key: str) -> int:
        return int(self._pipe.hlen(self._watched(kind, key)))

    def write(self) -> dict[Kind, int]:
        """Write everything in one transaction. Returns how many records there are of each kind that it wrote."""
        now, pipe = self.now, self._pipe
        kinds = list({kind for kind, _ in self.written})
        pipe.multi()
        for (kind, key), fields in self.written.items():
            name = named(kind, key)
            if fields is None:
                pipe.delete(name)
                pipe.zrem(named(kind), key)
                continue
            if kept := {field: text for field, text in fields.items() if text is not None}:
                pipe.hset(name, mapping=kept)
            if gone := fields.keys() - kept.keys():
                pipe.hdel(name, *gone)
            pipe.pexpire(name, int(1000 * kind.seconds))
            pipe.zadd(named(kind), {key: now + kind.seconds})
        for kind in kinds:
            pipe.zremrangebyscore(named(kind), 0, now)
        for kind in kinds:
            pipe.zcard(named(kind))
        return dict(zip(kinds, pipe.execute()[-len(kinds) :], strict=True))


def named(kind: Kind, key: str | None = None) -> str:
    """The name of a record in Redis; without a key that of the sorted set."""
    return f"headlight:{kind.name}" + ("" if key is None else f":{key}")


class RedisStore(Store):
    """See `Store`.

    Args:
        url: Its address, such as `redis://:password@10.0.0.1:6379/0`.
    """

    def __init__(self, url: str) -> None:
        super().__init__(re.sub("//.*@", "//", url), (RedisError, AddressError, OSError))  # without the password
        self._url = url
        self._client: Redis | None = None

    def _connect(self) -> Redis:
        retry = Retry(NoBackoff(), 1)  # once, because the server may have closed a connection that was not used
        waits = {"socket_timeout": PATIENCE, "socket_connect_timeout": PATIENCE}
        try:
            return Redis.from_url(self._url, decode_responses=True, retry=retry, **waits)
        except ValueError as error:
            raise AddressError(str(error)) from error

    def _attempt(self, work: Callable[[Records], Result]) -> Result:
        client: Any = self._connect() if self._client is None else self._client
        self._client = client
        for _ in range(ATTEMPTS):
            with client.pipeline() as pipe:
                records = RedisRecords(pipe)
                try:
                    result = work(records)
                    counts = records.write() if records.written else {}
                except WatchError:
                    continue
            for kind, count in counts.items():
                if count > kind.most:
                    surplus = client.zpopmin(named(kind), count - kind.most)
                    client.delete(*(named(kind, key) for key, _ in surplus))
            return result
        raise RedisError("too many processes write at the same time")

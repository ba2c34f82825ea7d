"""A Redis or Valkey server of its own for a test, which can be stopped and started again with what it has."""

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from redis import Redis, RedisError

from benchmarks.server import free_port

__all__ = ["RedisServer", "redis_server"]


class RedisServer:
    """Args:
    folder: For what it stores.
    """

    def __init__(self, program: str, folder: Path) -> None:
        self._port, self._folder, self._program = free_port(), folder, program
        self.url = f"redis://127.0.0.1:{self._port}"

    def start(self) -> None:
        options = {"port": self._port, "bind": "127.0.0.1", "dir": self._folder, "appendonly": "yes", "save": ""}
        command = [self._program, *(word for name, value in options.items() for word in (f"--{name}", str(value)))]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        with Redis.from_url(self.url) as client:
            while self._process.poll() is None:
                try:
                    client.ping()
                    return
                except RedisError:
                    time.sleep(0.02)
        pytest.fail("The Redis server has ended at once.")

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()


@contextmanager
def redis_server(folder: Path) -> Iterator[RedisServer]:
    """A build machine has Redis (tests/programs.py); elsewhere a test without it is left out, and says so."""
    program = shutil.which("valkey-server") or shutil.which("redis-server")
    if program is None:
        reason = "Redis is not installed: apt-get install redis-server"
        (pytest.fail if os.environ.get("CI") == "true" else pytest.skip)(reason)
    server = RedisServer(program, folder)
    server.start()
    try:
        yield server
    finally:
        server.kill()

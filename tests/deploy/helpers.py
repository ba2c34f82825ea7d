"""Helpers for the tests with nginx."""

import asyncio
import os
import shutil
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor

import pytest

__all__ = ["require_nginx", "run"]


def require_nginx() -> None:
    """A build machine has nginx (`.ci/run` sees to it); elsewhere a test without it is left out, and says so."""
    if shutil.which("nginx", path=os.environ.get("PATH", "") + ":/usr/sbin"):
        return
    reason = "nginx is not installed: apt-get install nginx-light"
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


def run(scenario: Coroutine[object, object, None], meanwhile: Callable[[], object] | None = None) -> None:
    """In a thread of its own: this one may still have the event loop of a browser, which `meanwhile` keeps going."""
    with ThreadPoolExecutor(1) as pool:
        future = pool.submit(asyncio.run, scenario)
        while meanwhile and not future.done():
            meanwhile()
        future.result()

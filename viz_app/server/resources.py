"""The cores and the memory that this process may use, on a computer or in a container.

A container sees the whole computer. Its limits are in its control group, of version 1 or 2. Where several processes
serve the app on one computer, `HEADLIGHT_PROCESSES` is their number, and each uses its share.
"""

import ctypes
import gc
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache, wraps
from pathlib import Path

__all__ = [
    "available",
    "cores",
    "freeze_imports",
    "limit_heaps",
    "memory",
    "return_freed_memory",
    "threads",
    "throttled",
]

GROUPS = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")
STATE = Path("/proc/meminfo")


def cores(*, groups: Path = GROUPS, own: Path = OWN_GROUPS) -> int:
    """The number of cores that the process may use at once, at least 1."""
    found = [float(len(os.sched_getaffinity(0))) if hasattr(os, "sched_getaffinity") else float(os.cpu_count() or 1)]
    for folder in folders("cpu", groups, own):
        quota, period = first_numbers(folder / "cpu.max", 2) or (math.inf, 1.0)  # version 2, microseconds
        found.append(quota / period)
        (quota,) = first_numbers(folder / "cpu.cfs_quota_us", 1) or (-1.0,)  # version 1, −1 without a limit
        (period,) = first_numbers(folder / "cpu.cfs_period_us", 1) or (1.0,)
        found.append(quota / period if quota > 0 else math.inf)
    return max(1, math.ceil(min(found) / processes()))


@cache
def freeze_imports() -> None:
    """After the first page: take the imported modules out of garbage collection, because they stay.

    With forty visitors the collection of all modules would stop all pages, sometimes for seconds.
    """
    gc.collect()
    gc.freeze()


@cache
def threads() -> int:
    """Threads for one model. A second thread helps a small model little and other visitors much."""
    return max(1, cores() // 2)


def memory(*, groups: Path = GROUPS, own: Path = OWN_GROUPS) -> int:
    """The bytes that the process may use, free or not."""
    found = [float(installed())]
    for folder in folders("memory", groups, own):
        for name in ("memory.max", "memory.limit_in_bytes"):  # version 2 and version 1
            found.extend(first_numbers(folder / name, 1) or ())
    return int(min(found) / processes())


def available(*, state: Path = STATE) -> int:
    """The bytes that the computer can give to a process now; where it does not say, those that it has."""
    try:
        lines = state.read_text(encoding="ascii").splitlines()
    except (OSError, UnicodeDecodeError):  # another system than Linux
        return memory()
    found = [line.split()[1] for line in lines if line.startswith("MemAvailable:")]
    return int(found[0]) << 10 if found and found[0].isdecimal() else memory()


def processes() -> int:
    """The number of processes that share the computer; `deploy/serve.py` sets it."""
    count = os.environ.get("HEADLIGHT_PROCESSES", "")
    return max(1, int(count)) if count.isdecimal() else 1


def installed() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows
        return 4 << 30


def folders(controller: str, groups: Path, own: Path) -> Iterator[Path]:
    """The folders that may limit this process: that of its control group, and those of all groups above it."""
    try:
        lines = own.read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        _, controllers, path = line.split(":", 2)
        if controllers and controller not in controllers.split(","):
            continue
        for root in (groups, groups / controller, groups / "unified") if controllers == "" else (groups / controllers,):
            group = root / path.strip("/")
            # Inside a container the path may be that of the host, which does not exist here.
            yield from (folder for folder in (group, *group.parents) if folder.is_relative_to(root) and folder.is_dir())


def first_numbers(file: Path, count: int) -> tuple[float, ...] | None:
    """The first numbers in a control file, infinity for "max"; None without such a file."""
    with suppress(OSError, ValueError):
        words = file.read_text(encoding="ascii").split()[:count]
        return tuple(math.inf if word == "max" else float(word) for word in words) if len(words) == count else None
    return None


def limit_heaps() -> None:
    """Make the C library use two heaps for all threads instead of one for each of forty."""
    with suppress(OSError, AttributeError, TypeError):  # other C libraries have no such call; Windows needs a name
        arenas, largest_on_a_heap = -8, -3  # M_ARENA_MAX, M_MMAP_THRESHOLD in malloc.h
        ctypes.CDLL(None).mallopt(arenas, 2)
        ctypes.CDLL(None).mallopt(largest_on_a_heap, 256 * 1024)


def return_freed_memory() -> None:
    """Make the C library return free memory in its heaps to the system; 30 ms for half a gigabyte."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


def throttled(seconds: float) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """Make a function do nothing if it is called again within so many seconds."""

    def decorate(work: Callable[[], None]) -> Callable[[], None]:
        lock, due = threading.Lock(), -math.inf

        @wraps(work)
        def call() -> None:
            nonlocal due
            with lock:
                if time.monotonic() < due:
                    return
                due = time.monotonic() + seconds
            work()

        return call

    return decorate

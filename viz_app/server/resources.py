"""What this process may use: cores and memory, of the machine or of the container that it runs in.

A container sees the whole machine; what it was given stands in its control group, of version 1 or 2. Where several
processes serve the app on one machine, `HEADLIGHT_PROCESSES` says how many, and each takes its part.
"""

import ctypes
import gc
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

__all__ = ["Seldom", "cores", "freeze_imports", "give_back_freed_memory", "keep_heaps_few", "memory", "threads"]

GROUPS = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")


def cores(*, groups: Path = GROUPS, own: Path = OWN_GROUPS) -> int:
    """Cores that the process may use at once, at least 1."""
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
    """After the first page: what is imported stays, so the search for garbage need not walk through it again and again.

    With forty visitors that search would stop all of them, now and then for seconds.
    """
    gc.collect()
    gc.freeze()


def threads() -> int:
    """For one visitor's model: small ones gain little from a second, other visitors and their browsers gain much."""
    return max(1, cores() // 2)


def memory(*, groups: Path = GROUPS, own: Path = OWN_GROUPS) -> int:
    """Bytes that the process may use, whether they are free now or not."""
    found = [float(installed())]
    for folder in folders("memory", groups, own):
        for name in ("memory.max", "memory.limit_in_bytes"):  # version 2 and version 1
            found.extend(first_numbers(folder / name, 1) or ())
    return int(min(found) / processes())


def processes() -> int:
    """How many processes share the machine; `deploy/serve.py` says so to those that it starts."""
    said = os.environ.get("HEADLIGHT_PROCESSES", "")
    return max(1, int(said)) if said.isdecimal() else 1


def installed() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # Windows
        return 4 << 30


def folders(controller: str, groups: Path, own: Path) -> Iterator[Path]:
    """The folders that may limit this process: of its own group and of all groups that this one is in."""
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
            # Inside a container the path may be that of the machine, which is not there.
            yield from (folder for folder in (group, *group.parents) if folder.is_relative_to(root) and folder.is_dir())


def first_numbers(file: Path, count: int) -> tuple[float, ...] | None:
    """What a control file says, infinity for "max"; None where there is no such file."""
    with suppress(OSError, ValueError):
        words = file.read_text(encoding="ascii").split()[:count]
        return tuple(math.inf if word == "max" else float(word) for word in words) if len(words) == count else None
    return None


def keep_heaps_few() -> None:
    """Have the C library share two heaps among all threads, instead of keeping one for each of forty."""
    with suppress(OSError, AttributeError, TypeError):  # other C libraries have no such call; Windows wants a name
        arenas, largest_on_a_heap = -8, -3  # M_ARENA_MAX, M_MMAP_THRESHOLD in malloc.h
        ctypes.CDLL(None).mallopt(arenas, 2)
        ctypes.CDLL(None).mallopt(largest_on_a_heap, 256 * 1024)


def give_back_freed_memory() -> None:
    """Have the C library return to the system what is free inside its heaps; some 30 ms for half a gigabyte."""
    with suppress(OSError, AttributeError, TypeError):
        ctypes.CDLL(None).malloc_trim(0)


@dataclass(kw_only=True)
class Seldom:
    """Does its work when it is called, but not again for so many seconds."""

    work: Callable[[], None]
    seconds: float
    _due: float = -math.inf
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self) -> None:
        with self._lock:
            if time.monotonic() < self._due:
                return
            self._due = time.monotonic() + self.seconds
        self.work()

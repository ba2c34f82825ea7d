import sys
from pathlib import Path

import psutil
import pytest

from viz_app.server.resources import cores, memory, return_freed_memory, throttled

UNLIMITED = str(2**63 - 4096)  # what version 1 says without a limit


def groups(folder: Path, own: str, files: dict[str, str]) -> dict[str, Path]:
    (folder / "own").write_text(own, encoding="utf-8")
    for name, text in files.items():
        file = folder / "groups" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return {"groups": folder / "groups", "own": folder / "own"}


@pytest.mark.parametrize(
    ("own", "files"),
    [
        ("0::/\n", {"memory.max": "536870912\n", "cpu.max": "100000 100000\n"}),
        ("0::/class/app\n", {"class/memory.max": "536870912\n", "class/app/cpu.max": "50000 100000\n"}),
        # The path is that of the machine; inside the container the group is the root.
        ("0::/docker/1234\n", {"memory.max": "536870912\n", "cpu.max": "100000 100000\n"}),
        (
            "4:memory:/app\n2:cpu,cpuacct:/app\n",
            {
                "memory/memory.limit_in_bytes": UNLIMITED,
                "memory/app/memory.limit_in_bytes": "536870912\n",
                "cpu,cpuacct/app/cpu.cfs_quota_us": "100000\n",
                "cpu,cpuacct/app/cpu.cfs_period_us": "100000\n",
            },
        ),
    ],
    ids=["version 2", "a group above", "container", "version 1"],
)
def test_the_limits_of_a_container_count(tmp_path: Path, own: str, files: dict[str, str]) -> None:
    places = groups(tmp_path, own, files)
    assert memory(**places) == 512 << 20
    assert cores(**places) == 1


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"memory.max": "max\n", "cpu.max": "max 100000\n"},
        {"memory/memory.limit_in_bytes": UNLIMITED, "cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000"},
        {"memory.max": "", "cpu.max": "what?\n"},
    ],
    ids=["no groups", "version 2", "version 1", "unreadable"],
)
def test_without_a_limit_the_machine_counts(tmp_path: Path, files: dict[str, str]) -> None:
    places = groups(tmp_path, "0::/\n4:memory:/\n2:cpu:/\n", files)
    assert memory(**places) >= 1 << 30
    assert cores(**places) >= 1
    (tmp_path / "own").unlink()  # other systems have no such file
    assert memory(**places) >= 1 << 30


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere the C library has its own way")
def test_free_memory_inside_a_heap_returns_to_the_system() -> None:
    kept = [bytes(4000) for _ in range(30_000)]  # 120 MB; above Python's own small objects, below what is mapped alone
    del kept[:-1]  # the last holds the heap open
    before = psutil.Process().memory_info().rss
    return_freed_memory()
    assert psutil.Process().memory_info().rss < before - 80e6


def test_a_throttled_function_does_not_run_again_too_soon() -> None:
    done: list[int] = []
    often, seldom = (throttled(seconds)(lambda: done.append(1)) for seconds in (0, 3600))
    for _ in range(3):
        seldom()
    assert len(done) == 1
    for _ in range(3):
        often()
    assert len(done) == 4

import threading
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest

from viz_app.server.server_state import Cache, read_only, size_of

PATIENCE = 60.0  # seconds that a test waits for another thread, on a busy machine


@dataclass(frozen=True)
class Record:
    name: str
    maps: dict[str, np.ndarray]
    rows: tuple[np.ndarray, ...] = ()


def block(kilobytes: int) -> np.ndarray:
    return np.zeros(kilobytes * 1024, dtype=np.uint8)


def counting(result: object) -> tuple[Callable[[], object], list[int]]:
    calls: list[int] = []

    def compute() -> object:
        calls.append(1)
        return result

    return compute, calls


def test_a_kept_result_is_not_computed_again() -> None:
    cache = Cache(capacity=10_000, largest=10_000)
    compute, calls = counting("result")
    assert [cache.get("a", compute), cache.get("a", compute), cache.get("b", compute)] == ["result"] * 3
    assert len(calls) == 2
    assert cache.peek("a") == "result"
    assert cache.peek("c") is None


def test_all_results_stay_within_the_limit_and_the_last_used_are_kept() -> None:
    cache = Cache(capacity=100 << 10, largest=50 << 10)
    compute, calls = counting(block(20))
    for i in range(1, 50):
        cache.get(i, lambda: block(20))
        cache.get(0, compute)  # used again and again
        assert cache.size <= 100 << 10
    assert len(calls) == 1
    assert cache.peek(0) is not None
    assert cache.peek(49) is not None
    assert cache.peek(1) is None
    assert len(cache) == 4


def test_a_result_that_is_too_large_is_returned_and_not_kept() -> None:
    cache = Cache(capacity=100 << 10, largest=50 << 10)
    cache.get("small", lambda: block(20))
    assert len(cache.get("large", lambda: block(60))) == 60 << 10
    assert cache.peek("large") is None
    assert cache.peek("small") is not None


def test_without_a_limit_for_one_result_the_latest_is_always_kept() -> None:
    cache = Cache(capacity=100 << 10)
    cache.get("small", lambda: block(20))
    cache.get("large", lambda: block(200))
    assert [cache.peek("small") is None, cache.peek("large") is None] == [True, False]


def test_simultaneous_requests_share_one_computation() -> None:
    cache = Cache(capacity=10_000, largest=10_000)
    started, go_on = threading.Event(), threading.Event()
    calls: list[int] = []
    found: list[object] = []

    def compute() -> str:
        calls.append(1)
        started.set()
        assert go_on.wait(PATIENCE)
        return "result"

    threads = [threading.Thread(target=lambda: found.append(cache.get("a", compute))) for _ in range(8)]
    for thread in threads:
        thread.start()
    assert started.wait(PATIENCE)
    assert cache.get("b", lambda: "other") == "other"  # nobody else waits for it
    go_on.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert (found, len(calls)) == (["result"] * 8, 1)


def test_an_error_reaches_all_requests_and_is_not_kept() -> None:
    cache = Cache(capacity=10_000, largest=10_000)

    def fail() -> str:
        raise ValueError("no such sentence")

    with pytest.raises(ValueError, match="no such sentence"):
        cache.get("a", fail)
    assert cache.get("a", lambda: "result") == "result"


def test_a_visitor_who_leaves_takes_no_result_from_others() -> None:
    class Leaving(BaseException):
        """As Streamlit ends the run of a page."""

    cache = Cache(capacity=10_000, largest=10_000)
    started, go_on = threading.Event(), threading.Event()
    found: list[object] = []

    def leave() -> str:
        started.set()
        assert go_on.wait(PATIENCE)
        raise Leaving

    def first() -> None:
        with pytest.raises(Leaving):
            cache.get("a", leave)

    threads = [
        threading.Thread(target=first),
        threading.Thread(target=lambda: found.append(cache.get("a", lambda: "result"))),
    ]
    threads[0].start()
    assert started.wait(PATIENCE)
    threads[1].start()
    go_on.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert found == ["result"]


def test_arrays_of_a_result_are_read_only_and_keep_no_other_array_in_memory() -> None:
    whole = np.zeros((100, 100), dtype=np.float32)
    kept = read_only(Record("a", {"x": whole[0]}, (whole[1:3],)))
    for array in (kept.maps["x"], kept.rows[0]):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
        assert array.base is None
    assert kept.rows[0].shape == (2, 100)
    whole[0] = 1
    assert not kept.maps["x"].any()


def test_the_size_of_a_result_counts_everything_in_it() -> None:
    record = Record("a", {"x": block(30)}, (block(20), block(10)))
    assert 60 << 10 < size_of(record) < 62 << 10
    assert size_of("ä" * 1000) > 1000

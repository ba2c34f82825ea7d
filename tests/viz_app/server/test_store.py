"""The store in its three forms: changes are whole, records expire and are bounded, and a store that fails says why."""

import logging
import resource
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks.server import free_port
from tests.redis_server import redis_server
from viz_app.server import store as stores
from viz_app.server.store import Kind, Records, Store, StoreError, shared_store

NOTES = Kind(name="note", most=3, seconds=100)
SHORT = Kind(name="short", most=3, seconds=0.2)


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each test opens its own store, and a failure of the store counts only once."""
    monkeypatch.setattr(stores, "PAUSE", 0.0)
    shared_store.cache_clear()
    yield
    shared_store.cache_clear()


def opened(monkeypatch: pytest.MonkeyPatch, place: str) -> Store:
    monkeypatch.setenv("HEADLIGHT_STORE", place)
    shared_store.cache_clear()
    return shared_store()


@pytest.fixture(params=["memory", "file", "redis"])
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Store]:
    match request.param:
        case "memory":
            yield opened(monkeypatch, "")
        case "file":
            yield opened(monkeypatch, str(tmp_path / "store.sqlite"))
        case _:
            with redis_server(tmp_path) as server:
                yield opened(monkeypatch, server.url)


def put(store: Store, kind: Kind, key: str, **fields: object) -> None:
    store.change(lambda records: records.put(kind, key, fields))


def found(store: Store, kind: Kind, key: str) -> dict[str, Any]:
    return store.change(lambda records: records.all(kind, key))


def test_a_change_is_done_as_a_whole_or_not_at_all(store: Store) -> None:
    put(store, NOTES, "a", text="Ünïcode 中", number=1)
    put(store, NOTES, "a", number=2, more=[1, "x"])
    assert found(store, NOTES, "a") == {"text": "Ünïcode 中", "number": 2, "more": [1, "x"]}
    assert store.change(lambda records: records.count(NOTES, "a")) == 3

    def fail(records: Records) -> None:
        records.put(NOTES, "a", {"number": 3})
        records.remove(NOTES, "a")
        raise KeyError

    with pytest.raises(KeyError):
        store.change(fail)
    put(store, NOTES, "a", more=None, text=None)
    assert found(store, NOTES, "a") == {"number": 2}
    store.change(lambda records: records.remove(NOTES, "a"))
    assert found(store, NOTES, "a") == {}
    assert store.change(lambda records: records.get(NOTES, "a", "number")) is None


def test_records_expire_and_the_one_that_would_expire_first_makes_room(store: Store) -> None:
    put(store, SHORT, "gone", text="x")
    for key in "abc":
        put(store, NOTES, key, text=key)
        time.sleep(0.01)
    put(store, NOTES, "a", more="used again")
    put(store, NOTES, "d", text="d")
    assert [bool(found(store, NOTES, key)) for key in "abcd"] == [True, False, True, True]
    time.sleep(0.3)
    assert found(store, SHORT, "gone") == {}


def test_a_change_that_another_process_has_interfered_with_is_done_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with redis_server(tmp_path) as server:
        ours, theirs = opened(monkeypatch, server.url), opened(monkeypatch, server.url)
        seen = []

        def add(records: Records) -> None:
            seen.append(records.get(NOTES, "a", "number") or 0)
            if len(seen) == 1:
                put(theirs, NOTES, "a", number=10)
            records.put(NOTES, "a", {"number": seen[-1] + 1})

        ours.change(add)
        assert seen == [0, 10]
        assert found(ours, NOTES, "a") == {"number": 11}


@pytest.mark.parametrize(
    ("place", "problem"),
    [
        ("redis://:secret@127.0.0.1:{port}/0", "Connection refused"),
        ("redis://[nonsense", "Invalid"),
        ("redis://127.0.0.1:many", "Port"),
        ("http://127.0.0.1:80", "scheme"),
        ("{folder}/missing/store.sqlite", "unable to open"),
        ("{folder}", "unable to open"),
        ("{folder}/letter.txt", "not a database"),
        ("none", "HEADLIGHT_STORE"),
    ],
)
def test_a_store_that_cannot_be_used_is_named_with_the_reason_and_without_its_password(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture, place: str, problem: str
) -> None:
    (tmp_path / "letter.txt").write_text("Dear all, " * 1000, encoding="utf-8")
    place = place.format(port=free_port(), folder=tmp_path)
    store = opened(monkeypatch, place)
    for _ in range(2):
        with pytest.raises(StoreError, match=problem) as failure:
            put(store, NOTES, "a", text="x")
        assert place == "none" or place.replace(":secret@", "") in str(failure.value)
    assert len(caplog.messages) == (place != "none"), "the log says it once, for whoever runs the server"
    assert "secret" not in f"{failure.value}{caplog.text}"
    caplog.clear()


def test_a_full_disk_refuses_a_change_and_loses_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = opened(monkeypatch, str(tmp_path / "store.sqlite"))
    put(store, NOTES, "a", text="kept")
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))
    try:
        with caplog.at_level(logging.CRITICAL), pytest.raises(StoreError, match="disk"):
            put(store, NOTES, "b", text="x" * 1_000_000)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    put(store, NOTES, "c", text="there is room again")
    assert [bool(found(store, NOTES, key)) for key in "abc"] == [True, False, True]


def test_nobody_waits_for_a_store_that_has_just_failed(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(stores, "PAUSE", 1000.0)
    with redis_server(tmp_path) as server:
        store = opened(monkeypatch, server.url)
        put(store, NOTES, "a", text="kept")
        server.kill()
        with pytest.raises(StoreError):
            found(store, NOTES, "a")
        server.start()
        with pytest.raises(StoreError):
            found(store, NOTES, "a")
        store._again = 0.0  # the pause is over
        assert found(store, NOTES, "a") == {"text": "kept"}
    caplog.clear()

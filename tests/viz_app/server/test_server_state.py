"""The results that all visitors share."""

from types import FunctionType

import pytest

from viz_app.server import server_state
from viz_app.server.server_state import Cache, keep, known, once_per_run, remembered, turn


def test_calls_with_the_same_meaning_share_one_result() -> None:
    calls: list[tuple[str, int]] = []

    @remembered()
    def measured(text: str, layer: int = 3) -> str:
        calls.append((text, layer))
        return f"{text} {layer}"

    assert {measured("a"), measured("a", 3), measured(layer=3, text="a")} == {"a 3"}
    assert calls == [("a", 3)]
    assert known(measured, "a") == known(measured, "a", layer=3) == "a 3"
    assert keep("kept", measured, "b") == measured("b", 3) == "kept"
    assert known(measured, "a", 4) is None


def test_two_functions_with_one_name_in_two_modules_share_nothing() -> None:
    def results_of(text: str) -> str:
        return f"one of {text}"

    same_name = FunctionType((lambda text: f"other of {text}").__code__, {"__name__": "another.module"})
    same_name.__qualname__, same_name.__module__ = results_of.__qualname__, "another.module"
    assert [remembered()(results_of)("a"), remembered()(same_name)("a")] == ["one of a", "other of a"]


def test_a_result_that_is_too_large_to_keep_is_computed_once_in_a_run_of_a_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(server_state, "RESULTS", Cache(capacity=1000, largest=100))
    calls: list[int] = []

    @remembered()
    def large(size: int) -> str:
        calls.append(size)
        return "x" * size

    with turn():
        assert large(500) == large(500)
    assert calls == [500]
    with turn():
        large(500)
    assert calls == [500, 500], "the memory holds it only as long as the page runs"


def test_what_each_run_of_a_page_reads_again_is_read_once_in_it() -> None:
    reads: list[int] = []

    @once_per_run
    def read() -> int:
        reads.append(len(reads))
        return len(reads)

    with turn():
        assert (read(), read()) == (1, 1)
    with turn():
        assert (read(), read()) == (2, 2)
    assert (read(), read()) == (3, 4)

import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager

import pytest

from tests.viz_app.server.test_gate import PATIENCE, until
from viz_app.server.batches import Batches


class Squares:
    """Computes squares. The first batch ends when the test says so."""

    def __init__(self, *, most: int = 16) -> None:
        self.calls, self.go_on, self.entered = list[list[int]](), threading.Event(), 1
        self.batches = Batches(most=most, waiting=self.enter)
        self.threads = ThreadPoolExecutor(32)

    @contextmanager
    def enter(self) -> Iterator[None]:
        self.entered += 1
        yield

    def compute(self, numbers: Sequence[int]) -> list[int]:
        self.calls.append(list(numbers))
        assert self.go_on.wait(PATIENCE)
        if 0 in numbers:
            raise ValueError("no zero")
        return [number**2 for number in numbers]

    def ask(self, number: int, group: str = "") -> Future[int]:
        return self.threads.submit(self.batches.ask, group, number, self.compute)

    def ask_while_busy(self, *numbers: int) -> list[Future[int]]:
        """A first request for 1, and the others in their order while it is computed."""
        asked = [self.ask(1)]
        until(lambda: self.calls == [[1]])
        for number in numbers:
            asked.append(self.ask(number))
            until(lambda: self.entered == len(asked))
        self.go_on.set()
        return asked


def test_what_is_requested_during_a_batch_is_the_next_one() -> None:
    squares = Squares(most=3)
    asked = squares.ask_while_busy(2, 3, 4, 5, 6)
    assert [one.result(PATIENCE) for one in asked] == [1, 4, 9, 16, 25, 36]
    assert squares.calls == [[1], [2, 3, 4], [5, 6]]


def test_groups_do_not_wait_for_each_other() -> None:
    squares = Squares()
    asked = [squares.ask(1, "a"), squares.ask(2, "b")]
    until(lambda: sorted(squares.calls) == [[1], [2]])
    squares.go_on.set()
    assert [one.result(PATIENCE) for one in asked] == [1, 4]


def test_an_error_reaches_only_the_thread_whose_item_fails() -> None:
    squares = Squares()
    first, second, failing, third = squares.ask_while_busy(2, 0, 3)
    with pytest.raises(ValueError, match="no zero"):
        failing.result(PATIENCE)
    assert [one.result(PATIENCE) for one in (first, second, third, squares.ask(4))] == [1, 4, 9, 16]


def test_many_threads_all_get_their_own_results() -> None:
    squares = Squares(most=3)
    squares.go_on.set()
    asked = [squares.ask(number, str(number % 2)) for number in range(1, 400)]
    assert [one.result(PATIENCE) for one in asked] == [number**2 for number in range(1, 400)]
    assert sorted(number for call in squares.calls for number in call) == list(range(1, 400))

import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from tests.viz_app.server.test_gate import PATIENCE, until
from viz_app.server.batches import Batches


class Squares:
    """Computes squares. The first batch ends when the test says so."""

    def __init__(self, *, most: int = 16) -> None:
        self.batches, self.calls, self.go_on = Batches(most=most), list[list[int]](), threading.Event()
        self.threads = ThreadPoolExecutor(32)

    def compute(self, numbers: Sequence[int]) -> list[int]:
        self.calls.append(list(numbers))
        assert self.go_on.wait(PATIENCE)
        if 0 in numbers:
            raise ValueError("no zero")
        return [number**2 for number in numbers]

    def ask(self, number: int, group: str = "") -> Future[int]:
        return self.threads.submit(self.batches.ask, group, number, self.compute)

    def ask_while_busy(self, numbers: Sequence[tuple[int, str]]) -> list[Future[int]]:
        """A first request for 1, and the others in their order while it is computed."""
        asked = [self.ask(1)]
        until(lambda: self.calls == [[1]])
        for waiting, (number, group) in enumerate(numbers, start=1):
            asked.append(self.ask(number, group))
            until(lambda waiting=waiting: len(self.batches._requests) == waiting)
        self.go_on.set()
        return asked


def test_what_is_requested_during_a_batch_is_the_next_one() -> None:
    squares = Squares()
    asked = squares.ask_while_busy([(2, ""), (3, ""), (4, "")])
    assert [one.result(PATIENCE) for one in asked] == [1, 4, 9, 16]
    assert squares.calls == [[1], [2, 3, 4]]


def test_a_batch_has_one_group_and_a_limit_and_begins_with_who_waits_longest() -> None:
    squares = Squares(most=2)
    asked = squares.ask_while_busy([(2, "a"), (3, "b"), (4, "a"), (5, "a"), (6, "b")])
    assert [one.result(PATIENCE) for one in asked] == [1, 4, 9, 16, 25, 36]
    assert squares.calls == [[1], [2, 4], [3, 6], [5]]


def test_an_error_reaches_its_batch_and_nobody_else() -> None:
    squares = Squares(most=2)
    asked = squares.ask_while_busy([(2, ""), (0, ""), (3, "")])
    for one in asked[1:3]:
        with pytest.raises(ValueError, match="no zero"):
            one.result(PATIENCE)
    assert [asked[0].result(PATIENCE), asked[3].result(PATIENCE), squares.ask(4).result(PATIENCE)] == [1, 9, 16]


def test_many_threads_all_get_their_own_results() -> None:
    squares = Squares(most=3)
    squares.go_on.set()
    asked = [squares.ask(number, str(number % 2)) for number in range(1, 400)]
    assert [one.result(PATIENCE) for one in asked] == [number**2 for number in range(1, 400)]
    assert sorted(number for call in squares.calls for number in call) == list(range(1, 400))

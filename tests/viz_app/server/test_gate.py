import threading
import time
from collections.abc import Callable

import pytest

from viz_app.server.server_state import Gate

PATIENCE = 60.0  # seconds that a test waits for another thread, on a busy machine


def until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.001)


def visitors(gate: Gate, count: int, go_on: threading.Event) -> tuple[list[int], list[int], list[threading.Thread]]:
    """Threads that queue one after the other: the order in which they enter, and how many are inside each time."""
    order: list[int] = []
    together: list[int] = []
    inside: set[int] = set()

    def visit(number: int) -> None:
        with gate.inside():
            inside.add(number)
            together.append(len(inside))
            order.append(number)
            assert go_on.wait(PATIENCE)
            inside.discard(number)

    threads = [threading.Thread(target=visit, args=(number,)) for number in range(count)]
    for asked, thread in enumerate(threads, start=1):
        thread.start()
        until(lambda asked=asked: len(order) + gate.waiting == asked)
    return order, together, threads


def test_the_first_thread_in_the_queue_enters_first() -> None:
    go_on = threading.Event()
    order, _, threads = visitors(Gate(1), 8, go_on)
    go_on.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert order == list(range(8))


def test_no_more_threads_are_inside_than_the_gate_allows() -> None:
    gate, go_on = Gate(3), threading.Event()
    order, together, threads = visitors(gate, 8, go_on)
    assert (sorted(order), gate.waiting) == ([0, 1, 2], 5)
    go_on.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(order) == 8
    assert max(together) <= 3


def test_a_waiting_thread_learns_its_place_and_one_that_leaves_frees_a_place() -> None:
    gate, heard, go_on = Gate(1), {1: [], 2: []}, threading.Event()

    class Leaving(BaseException):
        pass

    def wait(number: int) -> None:
        def tell(before: int) -> None:
            heard[number].append(before)
            if number == 1 and heard[2]:
                raise Leaving

        try:
            with gate.inside(tell):
                assert go_on.wait(PATIENCE)
        except Leaving:
            pass

    with gate.inside():
        threads = [threading.Thread(target=wait, args=(number,)) for number in (1, 2)]
        threads[0].start()
        until(lambda: gate.waiting == 1)
        threads[1].start()
        until(lambda: heard[2][-1:] == [0])  # the first has left
    go_on.set()
    for thread in threads:
        thread.join(PATIENCE)
    assert set(heard[1]) == {0}
    assert heard[2][0] == 1
    with gate.inside():  # nobody's place is lost
        assert gate.waiting == 0


def test_a_thread_that_leaves_at_its_turn_passes_it_on() -> None:
    gate, heard = Gate(1), threading.Event()

    class Leaving(BaseException):
        pass

    def tell(before: int) -> None:
        heard.set()
        until(lambda: gate.waiting == 0)
        raise Leaving

    def wait() -> None:
        with pytest.raises(Leaving), gate.inside(tell):
            pass

    thread = threading.Thread(target=wait)
    with gate.inside():
        thread.start()
        assert heard.wait(PATIENCE)
    thread.join(PATIENCE)
    assert gate._free == 1


def test_long_work_lets_waiting_threads_go_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viz_app.server.server_state.SLICE", 0.0)
    gate, order = Gate(1), []

    def short() -> None:
        with gate.inside():
            order.append("short")

    with gate.inside():
        gate.give_way()  # nobody waits
        order.append("long")
        thread = threading.Thread(target=short)
        thread.start()
        until(lambda: gate.waiting == 1)
        gate.give_way()
        order.append("long")
    thread.join(PATIENCE)
    assert order == ["long", "short", "long"]


def test_a_thread_that_was_inside_continues_before_new_threads() -> None:
    gate, go_on, out, order = Gate(1), threading.Event(), threading.Event(), []

    def resumed() -> None:
        with gate.inside():
            with gate.outside():
                out.set()
                assert go_on.wait(PATIENCE)
            order.append("resumed")

    def new() -> None:
        with gate.inside():
            order.append("new")

    threads = [threading.Thread(target=resumed), threading.Thread(target=new)]
    threads[0].start()
    assert out.wait(PATIENCE)
    with gate.inside():
        threads[1].start()
        until(lambda: gate.waiting == 1)
        go_on.set()
        until(lambda: gate.waiting == 2)
    for thread in threads:
        thread.join(PATIENCE)
    assert order == ["resumed", "new"]


def test_a_place_is_free_again_after_an_error_inside_and_outside() -> None:
    gate = Gate(1)
    with pytest.raises(ValueError, match="x"), gate.inside():
        raise ValueError("x")
    with pytest.raises(ValueError, match="x"), gate.inside(), gate.outside():
        raise ValueError("x")
    with gate.inside(), gate.inside():  # a page in a page takes one place
        assert gate._free == 0
    assert gate._free == 1


def test_work_of_a_page_that_has_waited_begins_before_those_who_come() -> None:
    gate, order = Gate(1), list[str]()

    def work() -> None:
        with gate.inside(first=True):
            order.append("work")

    def visit() -> None:
        with gate.inside():
            order.append("visitor")

    with gate.inside():
        visitor, worker = threading.Thread(target=visit), threading.Thread(target=work)
        visitor.start()
        until(lambda: gate.waiting == 1)
        worker.start()
        until(lambda: gate.waiting == 2)
    for thread in (visitor, worker):
        thread.join(PATIENCE)
    assert order == ["work", "visitor"]

"""A class in four processes: forty students at once, a process that is killed, and a store that is away for a while."""

import multiprocessing
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, MutableSequence, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.conftest import PATIENCE
from tests.redis_server import RedisServer, redis_server
from viz_app.server import store as stores
from viz_app.server.store import StoreError, shared_store
from viz_app.session.classes import CLASSES

COPIES = multiprocessing.get_context("fork")  # others would import torch again, which takes longer than all else
LESSON, PROCESSES, STUDENTS = "many-heads", 4, 40
STEPS = [f"step-{number}" for number in range(6)]
DOOMED = PROCESSES - 1  # the process that is killed
OPTIONS = ("more", "fewer", "same")


def choice(student: int, step: str) -> str:
    return OPTIONS[(student + STEPS.index(step)) % len(OPTIONS)]


def attend(student: int, code: str, answered: MutableSequence[int], place: int) -> None:
    """What the pages of one student do: join, answer each step, draw each page twice, and reload in between."""
    name = f"student {student}"
    assert CLASSES.join(code, name) == LESSON
    for step in STEPS:
        CLASSES.note_step(name, LESSON, step)
        for _ in range(2):
            CLASSES.note_answer(name, LESSON, step, choice(student, step), right=student % 2 == 0)
        if student % 4 == 0:
            assert CLASSES.join(code, name) == LESSON
        answered[place] += 1
        time.sleep(0.02)
        if place == DOOMED and answered[place] >= 30:
            time.sleep(PATIENCE)  # it is killed in the middle, however late the kill comes


def serve(place: str, code: str, students: Sequence[int], answered: MutableSequence[int], number: int) -> None:
    """One process of the server, with a thread for each student. It ends when everything is in the store."""
    os.environ["HEADLIGHT_STORE"], stores.PAUSE = place, 0.05
    shared_store.cache_clear()

    def visit(student: int) -> None:
        while True:
            with suppress(StoreError):  # the page says so, and the student tries again
                attend(student, code, answered, number)
                return
            time.sleep(0.05)

    threads = [threading.Thread(target=visit, args=(student,)) for student in students]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    while True:
        with suppress(StoreError):  # as open pages do every few seconds
            CLASSES.send()
            return
        time.sleep(0.05)


@pytest.fixture(params=["file", "redis"])
def place(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[RedisServer | None]:
    with ExitStack() as stack:
        server = stack.enter_context(redis_server(tmp_path)) if request.param == "redis" else None
        monkeypatch.setenv("HEADLIGHT_STORE", server.url if server else str(tmp_path / "store.sqlite"))
        monkeypatch.setattr(stores, "PAUSE", 0.05)
        shared_store.cache_clear()
        yield server
        shared_store.cache_clear()


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_no_answer_is_lost_or_counted_twice(place: RedisServer | None) -> None:
    code = CLASSES.open("teacher", LESSON)
    shared_store.cache_clear()  # closes the file, because SQLite does not survive a fork
    answered = COPIES.RawArray("i", PROCESSES + 1)

    def start(students: Sequence[int], number: int) -> multiprocessing.process.BaseProcess:
        arguments = (os.environ["HEADLIGHT_STORE"], code, students, answered, number)
        process = COPIES.Process(target=serve, args=arguments)
        process.start()
        return process

    groups = [range(number, STUDENTS, PROCESSES) for number in range(PROCESSES)]
    running = [start(group, number) for number, group in enumerate(groups)]
    doomed = running.pop()
    wait_until(lambda: answered[DOOMED] >= 15)
    os.kill(doomed.pid or 0, signal.SIGKILL)
    running.append(start(groups[-1], PROCESSES))  # its students continue at another process
    if place:
        place.kill()
        time.sleep(0.3)
        place.start()
    for process in running:
        process.join()
    assert [process.exitcode for process in running] == [0] * PROCESSES
    assert 15 <= answered[DOOMED] < 60, "it was killed in the middle"
    report = CLASSES.report("teacher")
    assert report
    assert report.members == STUDENTS
    assert report.first == {step: Counter(choice(one, step) for one in range(STUDENTS)) for step in STEPS}
    assert report.right == dict.fromkeys(STEPS, STUDENTS // 2)
    assert sum(report.at.values()) == STUDENTS


def wait_until(reached: Callable[[], bool]) -> None:
    while not reached():
        time.sleep(0.005)

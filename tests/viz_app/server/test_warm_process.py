"""The process that waits for its command."""

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import PATIENCE
from tests.viz_app.server.test_gate import until
from viz_app.server import training_jobs as spares
from viz_app.server.training_jobs import Spare, hand_over, start_process


@pytest.fixture(autouse=True)
def real_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spares, "start_process", start_process)


def test_the_waiting_process_runs_the_program_and_a_dead_one_is_replaced(tmp_path: Path) -> None:
    spare, log = Spare(), tmp_path / "log.txt"
    spare.prepare()
    dead = spare._waiting
    assert dead is not None
    spare.prepare()
    assert spare._waiting is dead  # one is enough
    dead.kill()
    dead.wait()
    assert not hand_over(b"{}\n", dead)
    spare.prepare()
    waiting = spare._waiting
    assert waiting not in (dead, None)
    ran = spare.run(["toy", "reverse", "--data-dir", str(tmp_path)], log)
    assert ran is waiting
    assert ran.wait(PATIENCE) == 0
    assert "reverse" in log.read_text()
    assert (tmp_path / "reverse").is_dir()
    spare.prepare()
    last = spare._waiting
    assert last is not None
    spare.end()
    assert last.poll() is not None


def test_an_unused_process_ends_and_a_used_one_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spare, timer = Spare(), threading.Timer
    late = list[threading.Timer]()

    def timed(seconds: float, *rest: Any) -> threading.Timer:
        late.append(timer(0.0, *rest))
        return late[-1] if len(late) == 1 else timer(seconds, *rest)

    monkeypatch.setattr(spares.threading, "Timer", timed)
    spare.prepare()
    until(lambda: spare._waiting is None)
    spare.prepare()
    ran = spare.run(["toy", "reverse", "--data-dir", str(tmp_path)], tmp_path / "log.txt")
    late[1].run()  # its time is over just now
    assert ran.poll() is None
    spares.discard(ran)


def test_a_process_that_takes_no_command_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def started() -> "subprocess.Popen[bytes]":
        process = subprocess.Popen([sys.executable, "-c", ""], stdin=subprocess.PIPE)
        process.wait(PATIENCE)
        return process

    monkeypatch.setattr(spares, "start_process", started)
    with pytest.raises(OSError, match="ended before it received its command"):
        Spare().run(["toy", "reverse"], tmp_path / "log.txt")

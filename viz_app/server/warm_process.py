"""A process that has imported the program already and waits for its command: a training starts seconds sooner.

What it does is in `model/cli/wait_for_command.py`.
"""

import atexit
import errno
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

__all__ = ["SPARE", "Spare", "hand_over"]

PROJECT = Path(__file__).resolve().parents[2]
PATIENCE = 600.0  # seconds that it waits for a command; then it is ended, and its memory is free
NICE = 10  # lets the pages of all visitors go first


class Spare:
    """At most one process that waits. It has one core."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: subprocess.Popen[bytes] | None = None
        atexit.register(self.end)

    def prepare(self) -> None:
        """Have a process wait, if none does."""
        with self._lock:
            if self._waiting is not None and self._waiting.poll() is not None:
                discard(self._waiting)
                self._waiting = None
            if self._waiting is None:
                self._waiting = started()
                expiry = threading.Timer(PATIENCE, self._expire, [self._waiting])
                expiry.daemon = True
                expiry.start()

    def run(self, arguments: Sequence[str], log: Path) -> "subprocess.Popen[bytes]":
        """Have the program run in the process that waits, or in a new one.

        Args:
            arguments: Of `python -m model`.
            log: The file for its output.

        Raises:
            OSError: no process can be started, or it ends at once.
        """
        log.touch()
        command = json.dumps({"arguments": list(arguments), "log": str(log)}).encode() + b"\n"
        with self._lock:
            waiting, self._waiting = self._waiting, None
        if waiting is not None:
            if hand_over(command, waiting):
                return waiting
            discard(waiting)
        fresh = started()
        if not hand_over(command, fresh):
            discard(fresh)
            raise ChildProcessError(errno.ECHILD, "The process ended before it got its task")
        return fresh

    def _expire(self, process: "subprocess.Popen[bytes]") -> None:
        """End a process that still waits. Here and not in the process: it cannot end while it is handed over."""
        with self._lock:
            if self._waiting is process:
                discard(process)
                self._waiting = None

    def end(self) -> None:
        """Before the server ends."""
        with self._lock:
            if self._waiting is not None:
                discard(self._waiting)
                self._waiting = None


def started() -> "subprocess.Popen[bytes]":
    alone = os.environ | {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    process = subprocess.Popen(
        [sys.executable, "-m", "model.cli.wait_for_command"],
        cwd=PROJECT,
        env=alone,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with suppress(AttributeError, OSError):  # Windows has no such thing; it may have ended already
        os.setpriority(os.PRIO_PROCESS, process.pid, NICE)
    return process


def discard(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    if process.stdin is not None:
        with suppress(OSError):  # what was written and not read
            process.stdin.close()


def hand_over(command: bytes, process: "subprocess.Popen[bytes]") -> bool:
    """Whether the process could take the command: it may have been killed."""
    assert process.stdin is not None
    try:
        process.stdin.write(command)
        process.stdin.close()
    except OSError:
        return False
    return process.poll() is None


SPARE = Spare()

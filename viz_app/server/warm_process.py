"""A process that has already imported the program and waits for a command, so that a training run starts sooner.

The process runs `model/cli/wait_for_command.py`.
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
PATIENCE = 600.0  # seconds that the process waits for a command, before it ends and frees its memory
NICE = 10  # the pages of all visitors have priority


class Spare:
    """At most one waiting process. It uses one core."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: subprocess.Popen[bytes] | None = None
        atexit.register(self.end)

    def prepare(self) -> None:
        """Start a process that waits, if there is none."""
        with self._lock:
            if self._waiting is not None and self._waiting.poll() is not None:
                discard(self._waiting)
                self._waiting = None
            if self._waiting is None:
                self._waiting = start_process()
                expiry = threading.Timer(PATIENCE, self._expire, [self._waiting])
                expiry.daemon = True
                expiry.start()

    def run(self, arguments: Sequence[str], log: Path) -> "subprocess.Popen[bytes]":
        """Run the program in the waiting process, or in a new one.

        Args:
            arguments: The arguments of `python -m model`.
            log: The file for its output.

        Raises:
            OSError: no process can be started, or the process ends at once.
        """
        log.touch()
        command = json.dumps({"arguments": list(arguments), "log": str(log)}).encode() + b"\n"
        with self._lock:
            waiting, self._waiting = self._waiting, None
        if waiting is not None:
            if hand_over(command, waiting):
                return waiting
            discard(waiting)
        fresh = start_process()
        if not hand_over(command, fresh):
            discard(fresh)
            raise ChildProcessError(errno.ECHILD, "The process ended before it received its command")
        return fresh

    def _expire(self, process: "subprocess.Popen[bytes]") -> None:
        """End a process that still waits. The process itself might end while it receives a command."""
        with self._lock:
            if self._waiting is process:
                discard(process)
                self._waiting = None

    def end(self) -> None:
        """End the waiting process, before the server ends."""
        with self._lock:
            if self._waiting is not None:
                discard(self._waiting)
                self._waiting = None


def start_process() -> "subprocess.Popen[bytes]":
    one_core = os.environ | {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    process = subprocess.Popen(
        [sys.executable, "-m", "model.cli.wait_for_command"],
        cwd=PROJECT,
        env=one_core,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    with suppress(AttributeError, OSError):  # Windows has no priorities of this kind; or the process has already ended
        os.setpriority(os.PRIO_PROCESS, process.pid, NICE)
    return process


def discard(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    process.wait()
    if process.stdin is not None:
        with suppress(OSError):  # it holds unread input
            process.stdin.close()


def hand_over(command: bytes, process: "subprocess.Popen[bytes]") -> bool:
    """Send the command. Returns whether the process received it; it may have been killed."""
    assert process.stdin is not None
    try:
        process.stdin.write(command)
        process.stdin.close()
    except OSError:
        return False
    return process.poll() is None


SPARE = Spare()

"""Processes that start at once: copies of one that has imported what the program imports.

The imports of a process take up to ten seconds of a core, and most tests want what comes after them.
"""

import multiprocessing
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from multiprocessing import spawn
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Any

from benchmarks.server import free_port
from model.cli.main import main
from model.cli.wait_for_command import wait_for_command

IMPORTED = (
    "tests.conftest",
    "torch._dynamo",
    "model.atlas.work",
    "model.foreign.open",
    "model.training.train",
    "spacy.lang.de",
    "spacy.lang.en",
)
COPIES = multiprocessing.get_context("forkserver")
COPIES.set_forkserver_preload([__name__, *IMPORTED])
PREPARATION = spawn.get_preparation_data


def without_main(name: str) -> dict[str, Any]:
    """A new process imports the main module first. Tests of pages may leave a page there, which runs in no process."""
    return {key: value for key, value in PREPARATION(name).items() if not key.startswith("init_main")}


spawn.get_preparation_data = without_main


def start(work: Callable[..., int | None], *arguments: object, **variables: str) -> ForkServerProcess:
    """Do `work(*arguments)` in a process with our folder and our environment, and some variables more.

    What the work returns is the exit code.
    """
    process = COPIES.Process(target=placed, args=(os.getcwd(), os.environ | variables, work, arguments))
    process.start()
    return process


def placed(
    folder: str, variables: dict[str, str], work: Callable[..., int | None], arguments: Sequence[object]
) -> None:
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(variables)
    sys.exit(work(*arguments))


def places(processes: int) -> list[dict[str, str]]:
    """What a launcher says to each of several processes, as variables of their environments."""
    count = str(processes)
    all_have = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(free_port()), "WORLD_SIZE": count}
    return [
        all_have | {"LOCAL_WORLD_SIZE": count, "RANK": rank, "LOCAL_RANK": rank} for rank in map(str, range(processes))
    ]


def program(arguments: list[str], said: Path) -> int:
    """Do what `python -m model` does, and write what it says into a file. Return the exit code."""
    with said.open("a") as output:
        for stream in (sys.stdout, sys.stderr):
            os.dup2(output.fileno(), stream.fileno())
    return main(arguments)


class WaitingCopy:
    """As `viz_app.server.training_jobs.start_process`, with the part of `Popen` that the server uses."""

    def __init__(self) -> None:
        reader, writer = COPIES.Pipe(duplex=False)
        self.stdin = os.fdopen(os.dup(writer.fileno()), "wb")
        self.process = start(wait_at, reader)
        self.pid, self.terminate, self.kill = self.process.pid, self.process.terminate, self.process.kill
        reader.close()
        writer.close()

    @property
    def returncode(self) -> int | None:
        return self.process.exitcode

    def poll(self) -> int | None:
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        self.process.join(timeout)
        if self.process.exitcode is None:
            raise subprocess.TimeoutExpired(WaitingCopy.__name__, timeout or 0)
        return self.process.exitcode


def wait_at(reader: Connection) -> int:
    sys.stdin = os.fdopen(reader.fileno(), closefd=False)
    return wait_for_command()

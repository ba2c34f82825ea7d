"""A training that a visitor runs here: in a process and a folder of its own, and a job in the lane for trainings.

It is the training of the command line, so what one sees is what anybody can run. It goes on while its visitor is here,
whatever page they look at, and saves itself when they stop it or leave. A visitor has one training, on all their tabs
together; after a reload it is there again.
"""

import atexit
import os
import re
import shutil
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from model.checkpoints.checkpoint import WEIGHTS, CheckpointError
from model.corpora.corpora import CorpusError
from model.corpora.toys import TOYS, write_toy
from viz_app.server.jobs import Job, Owner, Report, TooLongError
from viz_app.server.presence import Visitor
from viz_app.server.server_state import JOBS, MEGABYTE
from viz_app.server.temporary import new_folder
from viz_app.server.uploads import Room
from viz_app.server.warm_process import SPARE

__all__ = ["EPOCHS", "SNAPSHOTS", "WORKBENCH", "Plan", "Training", "Workbench"]

# Bytes on the disk for the trainings of all visitors: one takes 19 MB, at the largest sizes 120.
ROOM = Room(min(4 << 30, shutil.disk_usage(tempfile.gettempdir()).free // 4))
LEFT_FOR = 3600.0  # seconds that a training stays after its visitor left, if there is room
EPOCHS = 20
SNAPSHOTS = (0, 25, 50, 100, 150, 200, 300, 400, 600, 800, 1200)  # steps; the end is added
TAIL = 2_000  # bytes of a log that are read for its progress
TICK = 0.2  # seconds from one look at the process to the next
PATIENCE = 20  # seconds that a process has to save itself


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is to be learned, and by how large a model."""

    toy: str
    longest: int
    d_model: int
    layers: int  # of the encoder, and of the decoder
    heads: int

    def settings(self) -> Mapping[str, object]:
        """What differs from the recipe `toy`."""
        toy = TOYS[self.toy]
        return {
            "corpus": self.toy,
            "source_language": toy.source,
            "target_language": toy.target,
            "d_model": self.d_model,
            "d_ff": 2 * self.d_model,
            "num_heads": self.heads,
            "num_encoder_layers": self.layers,
            "num_decoder_layers": self.layers,
            "max_epochs": EPOCHS,
        }

    def room(self) -> int:
        """Bytes on the disk, at most: a corpus, and for each kept state of the weights their numbers."""
        weights = (2 * self.layers * 12 + 16) * self.d_model**2 + 1024 * self.d_model
        return 2 * MEGABYTE + 4 * weights * (len(SNAPSHOTS) + 8)


class Training:
    """One plan in the works. Its folder goes when nobody holds it any more."""

    def __init__(self, plan: Plan) -> None:
        """Raises CheckpointError where others' files take all the room, CorpusError where nothing can be written."""
        self.plan, self.finished, self.kept, self.problem = plan, False, False, ""
        self.job: Job | None = None  # the latest one
        ROOM.take(plan.room())
        weakref.finalize(self, ROOM.give, plan.room())
        try:
            self.data = new_folder()
        except OSError as error:
            raise CorpusError(f"There is no place for a training: {error.strerror}.") from error
        weakref.finalize(self, shutil.rmtree, self.data, ignore_errors=True)
        self.folder = self.data / plan.toy
        write_toy(self.data / "corpora", plan.toy, longest=plan.longest)

    @property
    def begun(self) -> bool:
        """Whether there is something to go on from."""
        return (self.folder / "training" / "state.safetensors").exists()

    @property
    def learned(self) -> bool:
        """Whether there is a model to look at and to keep."""
        return (self.folder / WEIGHTS).exists()

    @property
    def active(self) -> bool:
        """It waits for its turn, or goes on."""
        return self.job is not None and not self.job.finished.is_set() and bool(self.job.owners)

    @property
    def saving(self) -> bool:
        """It was stopped, and writes down what it has learned."""
        return self.job is not None and not self.job.finished.is_set() and not self.job.owners

    def go_on(self, owner: Owner) -> None:
        """Ask for its turn: it begins, or goes on from where it stopped, when those before it have ended."""
        if not (self.active or self.saving):
            self.problem, self.kept = "", False
            self.job = JOBS.ask(("training", self.data), self._work, lane="training", owner=owner)

    def stop(self) -> None:
        """Let it save itself and end."""
        for owner in tuple(self.job.owners) if self.job is not None else ():
            JOBS.leave(("training", self.data), owner)

    def _work(self, report: Report) -> None:
        log = self.data / "log.txt"
        try:
            with process(self._arguments(), log) as running:
                while running.poll() is None:
                    report(*progress_in(log))
                    time.sleep(TICK)
            self.problem = last_line(log) if running.returncode > 0 else ""
        except TooLongError as error:
            self.problem = f"{error} Resume goes on from here."
        except OSError as error:
            self.problem = f"{error.strerror}."
        finally:
            self.finished = log.exists() and last_line(log).startswith("Finished")

    def _arguments(self) -> list[str]:
        settings = [f"--set={name}={value}" for name, value in self.plan.settings().items()]
        places = ["--out", str(self.folder), "--data-dir", str(self.data / "corpora"), "--device", "cpu"]
        steps = ["--snapshots", *map(str, SNAPSHOTS)]
        resume = ["--resume"] if self.begun else []
        return ["train", "toy", *settings, *places, *steps, *resume]


class Workbench:
    """The trainings of all visitors, one each."""

    def __init__(self) -> None:
        self._trainings: dict[Visitor, Training] = {}
        self._lock = threading.Lock()

    def of(self, visitor: Visitor) -> Training | None:
        """The training of a visitor, also after they reloaded the page."""
        return self._trainings.get(visitor)

    def begin(self, visitor: Visitor, plan: Plan) -> Training:
        """Train what is planned; the training that this visitor had before is stopped and forgotten.

        Raises:
            CheckpointError: others' files take all the room.
            CorpusError: nothing can be written.
            QuotaError: another training of this visitor goes on.
        """
        with self._lock:
            if (before := self._trainings.pop(visitor, None)) is not None:
                before.stop()
            self._forget(longer_than=LEFT_FOR)
            try:
                training = Training(plan)
            except CheckpointError:
                self._forget(longer_than=0)
                training = Training(plan)
            self._trainings[visitor] = training
            training.go_on(visitor)  # inside: a second tab may begin another one meanwhile
        return training

    def resume(self, visitor: Visitor) -> None:
        """Let the training of this visitor go on, if there is something left to do.

        Raises:
            QuotaError: another training of this visitor goes on.
        """
        with self._lock:
            training = self._trainings.get(visitor)
            if training is not None and training.begun and not training.finished:
                training.go_on(visitor)

    def _forget(self, *, longer_than: float) -> None:
        """Drop what visitors left behind so many seconds ago."""
        before = time.monotonic() - longer_than
        for owner, training in tuple(self._trainings.items()):
            if not (owner.here() or owner.last_here > before or training.active or training.saving):
                del self._trainings[owner]


WORKBENCH = Workbench()


@contextmanager
def process(arguments: Sequence[str], log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Run the program in a process on one core; at the end it is asked to end, and not killed at once."""
    log.unlink(missing_ok=True)
    started = SPARE.run(arguments, log)
    atexit.register(started.kill)  # the server may end first
    try:
        yield started
    finally:
        atexit.unregister(started.kill)
        started.terminate()
        try:
            started.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()


def progress_in(log: Path) -> tuple[int, int]:
    """Steps done and steps in all, as the progress bar of the training says; zeros before there is one."""
    with suppress(OSError), log.open("rb") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - TAIL, 0))
        if found := re.findall(rb"\| (\d+)/(\d+) \[", file.read()):
            return int(found[-1][0]), int(found[-1][1])
    return 0, 0


def last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").replace("\r", "\n").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "It ended without a word.")

"""A training that a visitor runs here: in a process and a folder of its own, queued, and ended when nobody looks.

It is the training of the command line, so what one sees is what anybody can run. One goes on at a time in a server
process; a page that shows it says so every second by `look`, and when it no longer does, the training saves itself and
ends.
"""

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from model.corpora.corpora import CorpusError
from model.corpora.toys import TOYS, write_toy
from viz_app.jobs import Job, Report
from viz_app.shared import JOBS, MEGABYTE
from viz_app.uploads import Room

__all__ = ["EPOCHS", "SNAPSHOTS", "Plan", "Training"]

PROJECT = Path(__file__).resolve().parent.parent
ROOM = Room(1 << 30)  # bytes on the disk for the trainings of all visitors
PREFIX = "headlight-training-"
EPOCHS = 20
SNAPSHOTS = (0, 25, 50, 100, 150, 200, 300, 400, 600, 800, 1200)  # steps; the end is added
TICK = 0.2  # seconds from one look at the process to the next
GRACE = 6.0  # seconds without a look, after which it is ended: a page looks every second
PATIENCE = 20  # seconds that a process has to save itself
FORGOTTEN = 24 * 3600  # seconds after which a folder that a killed server left is swept up


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


@dataclass(eq=False)
class Run:
    """One stretch of a training, from Go on to Stop."""

    wanted: bool = True
    started: bool = False
    ended: bool = False


class Training:
    """One plan in the works. Its folder goes when nobody holds it any more."""

    def __init__(self, plan: Plan) -> None:
        """Raises CheckpointError where others' files take all the room, CorpusError where nothing can be written."""
        sweep()
        self.plan, self.finished, self.problem = plan, False, ""
        self._run, self._seen = Run(wanted=False, ended=True), 0.0
        ROOM.take(plan.room())
        weakref.finalize(self, ROOM.give, plan.room())
        try:
            self.data = Path(tempfile.mkdtemp(prefix=PREFIX))
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
    def active(self) -> bool:
        """It waits for its turn, or goes on."""
        return self._run.wanted and not self._run.ended

    @property
    def saving(self) -> bool:
        """It was stopped, and writes down what it has learned."""
        return self._run.started and not self._run.wanted and not self._run.ended

    def go_on(self) -> None:
        """Ask for its turn: it begins, or goes on from where it stopped, when those before it have ended."""
        if not (self.active or self.saving):
            self.problem, self._run = "", Run()

    def stop(self) -> None:
        """Let it save itself and end."""
        self._run.wanted = False

    def look(self) -> Job[object] | None:
        """Say that somebody is there. Returns its place in the queue, or None where it does not go on."""
        self._seen = time.monotonic()
        with suppress(OSError):
            os.utime(self.data)  # it is in use, says `sweep`
        return JOBS.ask(("training", self._run), partial(self._work, self._run)) if self.active else None

    def _work(self, run: Run, _report: Report) -> None:
        log = self.data / "log.txt"
        try:
            if not self._wanted(run):  # whoever asked may have gone while others were before
                return
            run.started = True
            with process(self._command(), log) as running:
                while self._wanted(run) and running.poll() is None:
                    time.sleep(TICK)
                run.wanted = False
            self.finished = last_line(log).startswith("Finished")
            self.problem = last_line(log) if running.returncode > 0 else ""
        except OSError as error:
            self.problem = f"{error.strerror}."
        finally:
            run.wanted, run.ended = False, True

    def _wanted(self, run: Run) -> bool:
        return run.wanted and time.monotonic() - self._seen < GRACE

    def _command(self) -> list[str]:
        settings = [f"--set={name}={value}" for name, value in self.plan.settings().items()]
        places = ["--out", str(self.folder), "--data-dir", str(self.data / "corpora"), "--device", "cpu"]
        steps = ["--snapshots", *map(str, SNAPSHOTS)]
        resume = ["--resume"] if self.begun else []
        return [sys.executable, "-m", "model", "train", "toy", *settings, *places, *steps, *resume]


@contextmanager
def process(command: Sequence[str], log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Start a process on one core that lets others go first; at the end it is asked to end, and not killed at once."""
    alone = os.environ | {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    with log.open("wb") as file:
        started = subprocess.Popen(command, cwd=PROJECT, env=alone, stdout=file, stderr=subprocess.STDOUT)
    with suppress(AttributeError, OSError):  # Windows has no such thing; it may have ended already
        os.setpriority(os.PRIO_PROCESS, started.pid, 5)
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


def last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").replace("\r", "\n").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), "It ended without a word.")


def sweep() -> None:
    """Remove what servers left that were killed."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError):
            if time.time() - folder.stat().st_mtime > FORGOTTEN:
                shutil.rmtree(folder, ignore_errors=True)

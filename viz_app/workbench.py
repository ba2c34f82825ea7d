"""A training that a visitor runs here: in a process and a folder of its own, queued, and ended when nobody looks.

It is the training of the command line, so what one sees is what anybody can run. One goes on at a time; a page that
shows it says so every second by `look`, and when it no longer does, the training saves itself and ends.
"""

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
from pathlib import Path

from model.corpora.toys import TOYS, write_toy
from viz_app.jobs import Job, Report
from viz_app.own_checkpoints import ROOM
from viz_app.shared import JOBS, MEGABYTE

__all__ = ["EPOCHS", "SNAPSHOTS", "Plan", "Training"]

PROJECT = Path(__file__).resolve().parent.parent
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


class Training:
    """One plan in the works. Its folder goes when nobody holds it any more."""

    def __init__(self, plan: Plan) -> None:
        """Raises CheckpointError where others' files take all the room, CorpusError where nothing can be written."""
        sweep()
        self.plan, self.active, self.finished, self.problem = plan, False, False, ""
        ROOM.take(plan.room())
        weakref.finalize(self, ROOM.give, plan.room())
        self.data = Path(tempfile.mkdtemp(prefix=PREFIX))
        weakref.finalize(self, shutil.rmtree, self.data, ignore_errors=True)
        self.folder = self.data / f"{plan.toy}-trained-here"
        self._turn, self._seen = 0, 0.0
        write_toy(self.data, plan.toy, longest=plan.longest)

    @property
    def begun(self) -> bool:
        return (self.folder / "training" / "state.safetensors").exists()

    def go_on(self) -> None:
        """Ask for its turn: it begins, or goes on from where it stopped, when those before it have ended."""
        if not self.active:
            self.active, self.problem, self._turn = True, "", self._turn + 1

    def stop(self) -> None:
        """Let it save itself and end."""
        self.active = False

    def look(self) -> Job[object] | None:
        """Say that somebody is there. Returns its place in the queue, or None where it does not go on."""
        self._seen = time.monotonic()
        return JOBS.ask(("training", self.folder, self._turn), self._run) if self.active else None

    @property
    def _wanted(self) -> bool:
        return self.active and time.monotonic() - self._seen < GRACE

    def _run(self, _report: Report) -> None:
        if not self._wanted:  # whoever asked may have gone while others were before
            self.active = False
            return
        try:
            log = self.data / "log.txt"
            with process(self._command(), log) as running:
                while self._wanted and running.poll() is None:
                    time.sleep(TICK)
                self.finished = running.poll() == 0
                self.problem = last_line(log) if running.poll() else ""
        finally:
            self.active = False

    def _command(self) -> list[str]:
        settings = [f"--set={name}={value}" for name, value in self.plan.settings().items()]
        places = ["--out", str(self.folder), "--data-dir", str(self.data), "--device", "cpu"]
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
    try:
        yield started
    finally:
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

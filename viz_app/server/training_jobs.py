"""A training run that a visitor starts in the app: a process with its own folder, and a job in the training lane.

It is the same program as on the command line. It continues on every page while its visitor is here. It saves itself
when the visitor stops it or leaves. A visitor has one training run for all tabs together, also after a reload.

A process that has already imported the program waits for its command (`model/cli/wait_for_command.py`), so that a run
starts sooner.
"""

import atexit
import errno
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from model.checkpoints.checkpoint import WEIGHTS, CheckpointError
from model.config.paths import ROOT
from model.corpora.corpora import CorpusError
from model.corpora.toys import TOYS, write_toy
from model.messages import N_, Message
from viz_app.server.jobs import Job, Owner, Report, TooLongError
from viz_app.server.presence import Visitor
from viz_app.server.server_state import JOBS, MEGABYTE
from viz_app.server.temporary import DiskSpace, new_folder

__all__ = ["EPOCHS", "SNAPSHOTS", "SPARE", "TRAININGS", "Plan", "Spare", "Training", "Trainings"]

# The training runs of all visitors: one needs 19 MB, with the largest sizes 120 MB.
DISK = DiskSpace(min(4 << 30, shutil.disk_usage(tempfile.gettempdir()).free // 4))
KEPT_FOR = 3600.0  # seconds that a training run stays after its visitor left, if nobody needs the space
EPOCHS = 20
SNAPSHOTS = (0, 25, 50, 100, 150, 200, 300, 400, 600, 800, 1200)  # steps; the last step is added
TAIL = 2_000  # bytes at the end of a log, enough for its last progress bar
TICK = 0.2  # seconds between two looks at the process
PATIENCE = 20  # seconds that a process may take to save itself
WAITS_FOR = 600.0  # seconds that a process waits for a command, before it ends and frees its memory
NICE = 10  # the pages of all visitors have priority


@dataclass(frozen=True, kw_only=True)
class Plan:
    """A task, and the size of the model that learns it."""

    toy: str
    longest: int
    d_model: int
    layers: int  # of the encoder, and as many of the decoder
    heads: int

    def settings(self) -> Mapping[str, object]:
        """The settings that differ from the recipe `toy`."""
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

    def disk_bytes(self) -> int:
        """The most bytes on the disk: the corpus, and the weights of each snapshot and of the training state."""
        weights = (2 * self.layers * 12 + 16) * self.d_model**2 + 1024 * self.d_model
        return 2 * MEGABYTE + 4 * weights * (len(SNAPSHOTS) + 8)


class Training:
    """One training run. Its folder is removed when nothing holds the object any more."""

    def __init__(self, plan: Plan) -> None:
        """Make the folder and the corpus of the run.

        Raises:
            CheckpointError: other visitors use all the disk space.
            CorpusError: the disk is full.
        """
        self.plan, self.finished, self.kept, self.problem = plan, False, False, ""
        self.job: Job | None = None  # the latest
        DISK.reserve(plan.disk_bytes())
        weakref.finalize(self, DISK.release, plan.disk_bytes())
        try:
            self.data = new_folder()
        except OSError as error:
            raise CorpusError("The training data cannot be stored: {error}.", error=error.strerror) from error
        weakref.finalize(self, shutil.rmtree, self.data, ignore_errors=True)
        self.folder = self.data / plan.toy
        write_toy(self.data / "corpora", plan.toy, longest=plan.longest)

    @property
    def has_state(self) -> bool:
        """Whether a saved training state exists, from which the run can resume."""
        return (self.folder / "training" / "state.safetensors").exists()

    @property
    def has_weights(self) -> bool:
        """Whether the run has saved a model, which can be shown and kept."""
        return (self.folder / WEIGHTS).exists()

    @property
    def active(self) -> bool:
        """Whether the run waits in the queue or trains."""
        return self.job is not None and not self.job.finished.is_set() and bool(self.job.owners)

    @property
    def saving(self) -> bool:
        """Whether the run was stopped and is saving itself."""
        return self.job is not None and not self.job.finished.is_set() and not self.job.owners

    def start_or_resume(self, owner: Owner) -> None:
        """Put the run into the queue. It starts, or resumes from its saved state, when a core is free."""
        if not (self.active or self.saving):
            self.problem, self.kept = "", False
            self.job = JOBS.ask(("training", self.data), self._work, lane="training", owner=owner)

    def stop(self) -> None:
        """Let the run save itself and end."""
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
            self.problem = Message("{problem} Press Resume to continue from here.", problem=error)
        except OSError as error:
            self.problem = f"{error.strerror}."
        finally:
            self.finished = log.exists() and last_line(log).startswith("Finished")

    def _arguments(self) -> list[str]:
        settings = [f"--set={name}={value}" for name, value in self.plan.settings().items()]
        places = ["--out", str(self.folder), "--data-dir", str(self.data / "corpora"), "--device", "cpu"]
        steps = ["--snapshots", *map(str, SNAPSHOTS)]
        resume = ["--resume"] if self.has_state else []
        return ["train", "toy", *settings, *places, *steps, *resume]


class Trainings:
    """The training runs of all visitors, one per visitor."""

    def __init__(self) -> None:
        self._trainings: dict[Visitor, Training] = {}
        self._lock = threading.Lock()

    def of(self, visitor: Visitor) -> Training | None:
        """The training run of a visitor, also after a reload of the page."""
        return self._trainings.get(visitor)

    def begin(self, visitor: Visitor, plan: Plan) -> Training:
        """Start a new training run. The visitor's earlier run is stopped and removed.

        Raises:
            CheckpointError: other visitors use all the disk space.
            CorpusError: the disk is full.
            QuotaError: another training run of this visitor is still active.
        """
        with self._lock:
            if (before := self._trainings.pop(visitor, None)) is not None:
                before.stop()
            self._remove_old(longer_than=KEPT_FOR)
            try:
                training = Training(plan)
            except CheckpointError:
                self._remove_old(longer_than=0)
                training = Training(plan)
            self._trainings[visitor] = training
            training.start_or_resume(visitor)  # inside the lock, because a second tab may start another run
        return training

    def resume(self, visitor: Visitor) -> None:
        """Resume the visitor's training run, if it has steps left.

        Raises:
            QuotaError: another training run of this visitor is still active.
        """
        with self._lock:
            training = self._trainings.get(visitor)
            if training is not None and training.has_state and not training.finished:
                training.start_or_resume(visitor)

    def _remove_old(self, *, longer_than: float) -> None:
        """Remove the runs of visitors who left more than so many seconds ago."""
        before = time.monotonic() - longer_than
        for owner, training in tuple(self._trainings.items()):
            if not (owner.here() or owner.last_here > before or training.active or training.saving):
                del self._trainings[owner]


TRAININGS = Trainings()


@contextmanager
def process(arguments: Sequence[str], log: Path) -> Iterator["subprocess.Popen[bytes]"]:
    """Run the program in a process on one core. At the end the process gets time to save itself before it is killed."""
    log.unlink(missing_ok=True)
    started = SPARE.run(arguments, log)
    atexit.register(started.kill)  # in case the server ends first
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
    """The steps done and all steps, read from the progress bar in the log; zeros before there is one."""
    with suppress(OSError), log.open("rb") as file:
        file.seek(max(file.seek(0, os.SEEK_END) - TAIL, 0))
        if found := re.findall(rb"\| (\d+)/(\d+) \[", file.read()):
            return int(found[-1][0]), int(found[-1][1])
    return 0, 0


def last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").replace("\r", "\n").splitlines()
    return next((line.strip() for line in reversed(lines) if line.strip()), N_("The process ended without a message."))


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
                expiry = threading.Timer(WAITS_FOR, self.end, [self._waiting])
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

    def end(self, only: "subprocess.Popen[bytes] | None" = None) -> None:
        """End the waiting process, or this one if it still waits.

        A process that ended itself might do so while it receives a command.
        """
        with self._lock:
            if self._waiting is not None and only in (None, self._waiting):
                discard(self._waiting)
                self._waiting = None


def start_process() -> "subprocess.Popen[bytes]":
    one_core = os.environ | {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
    process = subprocess.Popen(
        [sys.executable, "-m", "model.cli.wait_for_command"],
        cwd=ROOT,
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

"""Atlases that visitors measure in the app: a process with low priority, and a job in the lane "atlas".

It is the same program as on the command line. It keeps finished blocks, so that a visitor who stops can continue.
The texts and the atlas belong to the visitor alone, and they are removed when the visitor has left.
"""

import os
import shutil
import tempfile
import threading
import time
import weakref
from collections import OrderedDict
from pathlib import Path
from weakref import WeakKeyDictionary

from model.checkpoints.checkpoint import CheckpointError
from model.corpora.corpora import CorpusError
from viz_app.server.jobs import Report
from viz_app.server.presence import Visitor
from viz_app.server.server_state import MEGABYTE
from viz_app.server.temporary import DiskSpace, folder_bytes, new_folder
from viz_app.server.training_jobs import TICK, last_line, process, progress_in

__all__ = ["OwnAtlas", "begun_atlas", "forget_atlases", "latest_atlas", "own_atlas"]

MOST = 2  # atlases of a visitor; the oldest is removed first
MOST_BYTES = 128 * MEGABYTE  # while an atlas is measured; then what it takes
DISK = DiskSpace(min(2 << 30, shutil.disk_usage(tempfile.gettempdir()).free // 8))


class OwnAtlas:
    """The atlas of one checkpoint over the texts of one visitor. Its folder is removed with the object.

    Only an atlas that is being measured reserves much of the disk, so visitors who wait in the queue need no space.
    """

    def __init__(self, checkpoint: Path, lines: str, syntax: tuple[str, ...]) -> None:
        """Make the folder with the texts.

        Args:
            checkpoint: Its folder.
            lines: The texts.
            syntax: Pipelines of spaCy, as `--syntax` takes them.

        Raises:
            CorpusError: the disk is full.
        """
        self.checkpoint, self.syntax, self.size, self.running = checkpoint, syntax, 0, False
        try:
            self.data = new_folder()
            weakref.finalize(self, shutil.rmtree, self.data, ignore_errors=True)
            (self.data / "texts.txt").write_text(lines, encoding="utf-8")
        except OSError as error:
            raise CorpusError("The texts cannot be stored: {error}.", error=error.strerror) from error

    @property
    def folder(self) -> Path:
        return self.data / "atlas"

    @property
    def begun(self) -> bool:
        """Whether a part is measured, from which the work continues."""
        return self.folder.with_name("atlas.unfinished").is_dir()

    def measure(self, report: Report) -> bool:
        """The work of the job: measure what is missing.

        Raises:
            CheckpointError: other visitors use all the disk space, or the process failed; the message is its last line.
        """
        DISK.reserve(MOST_BYTES)
        self.running = True
        try:
            self.run(report)
        finally:
            self.running = False
            grown = folder_bytes(self.data) - self.size
            self.size += grown
            DISK.release(MOST_BYTES - grown)
            weakref.finalize(self, DISK.release, grown)
        return True

    def run(self, report: Report) -> None:
        log = self.data / "log.txt"
        command = ["atlas", str(self.checkpoint), "--corpus", str(self.data / "texts.txt"), "--device", "cpu"]
        if self.syntax:
            command += ["--syntax", *self.syntax]
        with process([*command, "--out", str(self.folder)], log) as running:
            while running.poll() is None:
                report(*progress_in(log))
                time.sleep(TICK)
        if not self.folder.is_dir():
            problem = last_line(log).replace(f"{self.data}{os.sep}", "")
            raise CheckpointError("The atlas could not be measured: {problem}", problem=problem)


# Visitor → checkpoint, texts and pipelines → the atlas; the latest one is last.
OWN: WeakKeyDictionary[Visitor, OrderedDict[tuple[str, str, str, tuple[str, ...]], OwnAtlas]] = WeakKeyDictionary()
LOCK = threading.Lock()


def begun_atlas(
    visitor: Visitor, checkpoint: Path, version: str, lines: str, syntax: tuple[str, ...]
) -> OwnAtlas | None:
    """The atlas of a visitor over these texts, if the visitor has begun to measure it."""
    with LOCK:
        return OWN.get(visitor, OrderedDict()).get((str(checkpoint), version, lines, syntax))


def own_atlas(visitor: Visitor, checkpoint: Path, version: str, lines: str, syntax: tuple[str, ...]) -> OwnAtlas:
    """The atlas of a visitor over these texts, with what is measured already; a new one where there is none.

    Raises:
        CorpusError: the disk is full.
    """
    name = str(checkpoint), version, lines, syntax
    with LOCK:
        mine = OWN.setdefault(visitor, OrderedDict())
        if name not in mine:
            ended = [other for other, one in mine.items() if not one.running]
            for other in ended[: max(len(mine) - MOST + 1, 0)]:
                del mine[other]
            mine[name] = OwnAtlas(checkpoint, lines, syntax)
        mine.move_to_end(name)
        return mine[name]


def forget_atlases(visitor: Visitor, checkpoint: Path, version: str) -> None:
    """Remove the atlases of a checkpoint that a visitor has measured."""
    with LOCK:
        mine = OWN.get(visitor, OrderedDict())
        for name in [name for name in mine if name[:2] == (str(checkpoint), version)]:
            del mine[name]


def latest_atlas(visitor: Visitor, checkpoint: Path, version: str) -> OwnAtlas | None:
    """The latest atlas of a checkpoint that a visitor has measured; None without one."""
    with LOCK:
        mine = [one for name, one in OWN.get(visitor, OrderedDict()).items() if name[:2] == (str(checkpoint), version)]
    return next((one for one in reversed(mine) if one.folder.is_dir()), None)

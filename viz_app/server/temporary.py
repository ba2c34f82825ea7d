"""Temporary folders that end with the server, and their limit. After a kill, the next server removes them."""

import atexit
import os
import shutil
import tempfile
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO

from model.checkpoints.checkpoint import CheckpointError

try:
    import fcntl
except ImportError:  # Windows has no such locks, so nothing is removed there after a kill
    fcntl = None  # type: ignore[assignment]

__all__ = ["DiskSpace", "folder_bytes", "new_folder", "remove_leftovers"]

PREFIX = "headlight-server-"  # of the folder, and of the file beside it that is locked while its server runs
ALIVE = ".alive"
MAKING = threading.Lock()


class DiskSpace:
    """The bytes on the disk that one kind of file of all visitors may take together."""

    def __init__(self, size: int) -> None:
        self._left, self._lock = size, threading.Lock()

    def has(self, size: int) -> bool:
        """Whether so many bytes are free."""
        return size <= self._left

    def reserve(self, size: int) -> None:
        """Reserve bytes.

        Raises:
            CheckpointError: other visitors use too much.
        """
        with self._lock:
            if size <= self._left:
                self._left -= size
                return
        raise CheckpointError("Other visitors are using all the disk space. Try again when they have left.")

    def release(self, size: int) -> None:
        with self._lock:
            self._left += size


def new_folder() -> Path:
    """Make an empty folder.

    Raises:
        OSError: the disk is full.
    """
    with MAKING:
        folder, file = home()
        if not (folder.is_dir() and Path(file.name).exists()):  # a cleaning program has removed it
            home.cache_clear()
            folder, file = home()
    return Path(tempfile.mkdtemp(dir=folder))


@cache
def home() -> tuple[Path, IO[bytes]]:
    """The folder of this process and the file that it keeps locked."""
    remove_leftovers()
    file = locked_file()
    folder = Path(file.name).with_suffix("")
    folder.mkdir(mode=0o700)
    atexit.register(remove, Path(file.name))
    return folder, file


def locked_file() -> IO[bytes]:
    """Make and lock a file. It is made before the folder, so no kill leaves a folder without a file."""
    while True:
        file = tempfile.NamedTemporaryFile(prefix=PREFIX, suffix=ALIVE, delete=False)  # noqa: SIM115
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink or fcntl is None:
            return file
        file.close()  # another server removed it as a leftover before it was locked


def remove_leftovers() -> None:
    """Remove the folders of killed servers. The lock of a file ends with its process."""
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*{ALIVE}"):
        with suppress(OSError), path.open("rb") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises while the server runs
                remove(path)


def folder_bytes(folder: Path) -> int:
    """The bytes of all files in a folder. A file that a cleaning program removes meanwhile counts 0."""
    total = 0
    for path in folder.rglob("*"):
        with suppress(OSError):
            total += path.stat().st_size if path.is_file() else 0
    return total


def remove(file: Path) -> None:
    """Remove the folder of a server, then its file. The file stays if the folder does."""
    folder = file.with_suffix("")
    shutil.rmtree(folder, ignore_errors=True)
    if not folder.exists():
        with suppress(OSError):  # already removed; or open, on Windows
            file.unlink()

"""A folder of this server for what lasts no longer than the server. The next server removes it after a kill."""

import atexit
import shutil
import tempfile
import threading
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import IO

try:
    import fcntl
except ImportError:  # Windows has no such locks: there nothing is removed after a kill
    fcntl = None  # type: ignore[assignment]

__all__ = ["new_folder", "remove_leftovers"]

PREFIX, ALIVE = "headlight-server-", "alive"  # the file is locked as long as its server lives
MAKING = threading.Lock()


def new_folder() -> Path:
    """An empty folder.

    Raises:
        OSError: the disk is full.
    """
    with MAKING:
        folder, _ = home()
    return Path(tempfile.mkdtemp(dir=folder))


@cache
def home() -> tuple[Path, IO[bytes]]:
    """The folder of this process, and the file that it holds locked."""
    remove_leftovers()
    folder = Path(tempfile.mkdtemp(prefix=PREFIX))
    file = (folder / f"{ALIVE}.new").open("wb")
    if fcntl is not None:
        fcntl.flock(file, fcntl.LOCK_EX)
    (folder / f"{ALIVE}.new").rename(folder / ALIVE)  # only now another server may look at it
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder, file


def remove_leftovers() -> None:
    """Remove the folders of servers that were killed; a lock ends with its process."""
    for folder in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with suppress(OSError), (folder / ALIVE).open("rb") as file:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # raises where the server lives
                shutil.rmtree(folder, ignore_errors=True)

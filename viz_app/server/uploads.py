"""The files that visitors send: the memory where they wait for Open, unpacking them, and the uploads that are open."""

import re
import shutil
import stat
import threading
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path, PurePosixPath
from typing import IO, Any

import streamlit as st
from starlette.exceptions import HTTPException

from model.checkpoints.checkpoint import CheckpointError
from model.messages import Message
from model.safety.folder_files import WEIGHTS, inner_folder, is_hidden, is_kept, is_of_atlas, why_no_weights
from viz_app.server.presence import Visitor, tabs_beside
from viz_app.server.streamlit_bridge import received_files
from viz_app.server.temporary import DiskSpace, folder_bytes, new_folder

__all__ = ["Own", "Upload", "bound_received_files", "largest_upload", "own_of", "unpack"]

MOST_FILES = 200
CHUNK = 1 << 20  # bytes
DISK = DiskSpace(1 << 30)
MOST = 4  # uploads of a visitor; the oldest is removed first
VISITORS = 4  # this many visitors may use their whole limit at the same time


def largest_upload() -> int:
    """The limit for the files of a visitor in MB, from the server's configuration."""
    return int(st.get_option("server.maxUploadSize"))


def bound_received_files() -> None:
    """Bound the files of each visitor, and of all visitors, in this server. A second call does nothing."""
    store = received_files()
    if store is not None:
        bounded(store)


@cache
def bounded(files: Any) -> None:
    """Make Streamlit's store of received files refuse too many bytes. Streamlit itself only checks each file.

    Args:
        files: The store, a `MemoryUploadedFileManager`.
    """
    add, adding = files.add_file, threading.Lock()

    def bytes_per_session() -> dict[str, int]:
        """Session → bytes. It iterates over copies, because a visitor who leaves removes files meanwhile."""
        return {
            session: sum(len(one.data) for one in tuple(received.values()))
            for session, received in tuple(files.file_storage.items())
        }

    def add_file(session_id: str, file: Any) -> None:
        most = largest_upload() << 20
        with adding:
            tabs = tabs_beside(session_id)
            sizes = bytes_per_session()
            if sum(sizes.get(tab, 0) for tab in tabs) + len(file.data) > most:
                for tab, connected in tabs.items():  # closed or reloaded tabs leave files behind
                    if tab != session_id and not connected:
                        files.remove_session_files(tab)
                sizes = bytes_per_session()
            too_much = sum(sizes.get(tab, 0) for tab in tabs) + len(file.data) > most
            if too_much or sum(sizes.values()) + len(file.data) > VISITORS * most:
                raise HTTPException(status_code=413, detail="Too many files are waiting")
            add(session_id, file)

    files.add_file = add_file


def unpack(files: Sequence[tuple[str, IO[bytes]]], folder: Path, *, most_mb: int) -> tuple[str, ...]:
    """Write the files of a checkpoint and of its atlas into a folder. Other files and subfolders are left out.

    Args:
        files: Names, perhaps with a folder, and contents. One file may be a `.zip` of all files.
        folder: An empty folder.
        most_mb: The limit for all files together.

    Returns:
        The names of the files that were left out.

    Raises:
        CheckpointError: the files hold no checkpoint, are too large, or an archive is damaged or names files elsewhere.
    """
    unpacked = [member for name, content in files for member in members_of(name, content, most_mb)]
    members = {name: content for name, content in unpacked if not is_hidden(name)}
    home = PurePosixPath(inner_folder(title_of(files), list(members), may_lack_description=True))
    written, left_out = 0, []
    for name, content in members.items():
        path = PurePosixPath(name)
        place = path.relative_to(home) if path.is_relative_to(home) else path
        if not is_of_atlas(str(place)) and (path.parent != home or not is_kept(path.name)):
            left_out.append(str(place))
            continue
        try:
            (folder / place.parent).mkdir(exist_ok=True)
            with (folder / place).open("wb") as target:
                written += copy(content, target, most=(most_mb << 20) - written)
        except OSError as error:
            raise CheckpointError(
                "{file} could not be written: {error}", file=path.name[:60], error=error.strerror
            ) from error
    if not any(path.suffix in WEIGHTS for path in folder.iterdir()):
        raise CheckpointError(why_no_weights(title_of(files), list(members)))
    return tuple(left_out)


def title_of(files: Sequence[tuple[str, IO[bytes]]]) -> str:
    """A name for the files in a message: of their folder or their archive."""
    top, slash, _ = files[0][0].partition("/") if files else ("", "", "")
    return top if slash or top.lower().endswith(".zip") else Message("The upload")


def members_of(name: str, content: IO[bytes], most_mb: int) -> Iterator[tuple[str, IO[bytes]]]:
    """The files in an archive, or the file itself where it is not an archive."""
    if not name.lower().endswith(".zip"):
        yield safe_name(name), content
        return
    try:
        archive = zipfile.ZipFile(content)
        infos = [info for info in archive.infolist() if not info.is_dir()]
        require_small(name, infos, most_mb)
        for info in infos:
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise CheckpointError("{file} uses an unusual compression. Make an ordinary .zip.", file=name)
            if stat.S_ISLNK(info.external_attr >> 16):
                raise CheckpointError(
                    "“{member}” in {file} is a link. Make a .zip of plain files.", member=info.filename, file=name
                )
            yield safe_name(info.filename), archive.open(info)
    except CheckpointError:
        raise
    except Exception as error:  # damaged archives raise many kinds of exceptions
        raise CheckpointError(
            "{file} is not a .zip that can be opened: {error}. Pack the folder of the checkpoint again.",
            file=name,
            error=error,
        ) from error


def require_small(name: str, infos: Sequence[zipfile.ZipInfo], most_mb: int) -> None:
    size = sum(info.file_size for info in infos)
    if len(infos) > MOST_FILES or size > most_mb << 20:
        raise CheckpointError(
            "{file} holds {count} files with {megabytes} MB. The limit is {most} files with {most_mb} MB in total.",
            file=name,
            count=f"{len(infos):,}",
            megabytes=f"{size / 1e6:,.0f}",
            most=MOST_FILES,
            most_mb=most_mb,
        )


def safe_name(name: str) -> str:
    """The name, if it stays inside the folder.

    Raises:
        CheckpointError: the name leads to another folder.
    """
    path = PurePosixPath(name.replace("\\", "/"))
    if not path.parts or path.is_absolute() or ".." in path.parts or ":" in path.parts[0] or "\0" in name:
        raise CheckpointError("The file “{file}” would be written outside the folder. Nothing was opened.", file=name)
    return str(path)


def copy(source: IO[bytes], target: IO[bytes], *, most: int) -> int:
    """Copy a file and return its size. An archive may claim a smaller size than its files have.

    Raises:
        CheckpointError: the file is larger than `most` bytes, or damaged.
    """
    copied = 0
    try:
        while chunk := source.read(CHUNK):
            copied += len(chunk)
            if copied > most:
                raise CheckpointError("These files are larger than the limit. Nothing was opened.")
            target.write(chunk)
    except (zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise CheckpointError("The archive is damaged: {error}", error=error) from error
    return copied


class Upload:
    """A folder that is removed when no session holds the object any more."""

    def __init__(self, name: str, fill: Callable[[Path], tuple[str, ...]], *, most: int) -> None:
        """Make a folder and fill it.

        Args:
            name: The wanted name of the folder.
            fill: Writes files into the folder. Returns the names of those that were left out.
            most: The most bytes that `fill` writes.

        Raises:
            CheckpointError: `fill` found no checkpoint, or the disk is full. Then the folder is removed.
        """
        try:
            home = new_folder()
        except OSError as error:
            raise CheckpointError("The files cannot be stored: {error}.", error=error.strerror) from error
        weakref.finalize(self, shutil.rmtree, home, ignore_errors=True)
        self.folder = home / (re.sub(r"[^\w.-]+", "-", name).strip("-.")[:60] or "upload")
        self.folder.mkdir()
        if not DISK.has(most):
            remove_uploads_of_absent_visitors()
        DISK.reserve(most)  # before anything is written
        try:
            self.left_out = fill(self.folder)
        finally:
            size = folder_bytes(self.folder)
            DISK.release(most - size)
            weakref.finalize(self, DISK.release, size)


class Own:
    """The checkpoints of one visitor, who may have several tabs."""

    def __init__(self) -> None:
        self.uploads: tuple[Upload, ...] = ()
        self.folders: tuple[Path, ...] = ()
        self._changing = threading.Lock()

    def add_upload(self, upload: Upload) -> None:
        """Add an upload. It replaces one with the same name, and the oldest if there are too many."""
        with self._changing:
            kept = [one for one in self.uploads if one.folder.name != upload.folder.name]
            self.uploads = (*kept[1 - MOST :], upload)

    def add_folder(self, folder: Path) -> None:
        with self._changing:
            self.folders = (*(one for one in self.folders if one != folder), folder)


# Only the visitor's sessions hold the value. The key may live longer, for example while the visitor's training runs.
OWN: weakref.WeakValueDictionary[Visitor, Own] = weakref.WeakValueDictionary()
OPENING = threading.Lock()


def own_of(visitor: Visitor) -> Own:
    with OPENING:
        return OWN.setdefault(visitor, Own())


def remove_uploads_of_absent_visitors() -> None:
    for owner, theirs in tuple(OWN.items()):
        if not owner.here():
            theirs.uploads = ()

"""Files that a visitor brings, as a folder of a checkpoint: a few known kinds, flat, no larger than was said."""

import stat
import threading
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO

from model.checkpoints.checkpoint import CheckpointError

__all__ = ["WEIGHTS", "Room", "unpack"]

MOST_FILES = 200
KNOWN = {".json", ".safetensors", ".bin", ".pt", ".pth", ".txt", ".model", ".spm", ".toml", ".md"}
WEIGHTS = (".safetensors", ".bin", ".pt", ".pth")
STEP = 1 << 20


def unpack(files: Sequence[tuple[str, IO[bytes]]], folder: Path, *, most_mb: int) -> int:
    """Write what belongs to a checkpoint into an empty folder; the rest, and what lies in folders below, is left out.

    Args:
        files: Names, perhaps with the folder that they were in, and contents. One may be a `.zip` of all.
        folder: Is there already.
        most_mb: How large all of it may be.

    Returns:
        Bytes that were written.

    Raises:
        CheckpointError: nothing of it is a checkpoint's, or it is too much, or an archive is damaged or tries to write
            elsewhere.
    """
    found = [member for name, content in files for member in members_of(name, content, most_mb)]
    members = [(name, content) for name, content in found if not hidden(name)]
    top = top_folder([name for name, _ in members])
    written = 0
    for name, content in members:
        parts = PurePosixPath(name).parts[1 if top else 0 :]
        if len(parts) != 1 or PurePosixPath(name).suffix.lower() not in KNOWN:
            continue
        try:
            with (folder / parts[0]).open("wb") as target:
                written += copy(content, target, most=(most_mb << 20) - written)
        except OSError as error:
            raise CheckpointError(f"{parts[0][:60]} could not be kept: {error.strerror}") from error
    if not any((folder / name).exists() for name in ("config.json", "headlight.toml")):
        raise CheckpointError(where_it_may_be([name for name, _ in members]))
    if not any(path.suffix in WEIGHTS for path in folder.iterdir()):
        raise CheckpointError(f"There are no weights among these files ({', '.join(WEIGHTS)}), so no checkpoint.")
    return written


def where_it_may_be(names: Sequence[str]) -> str:
    """What to do where no file describes a checkpoint."""
    says = "There is no config.json and no headlight.toml among these files, so no checkpoint."
    paths = [PurePosixPath(name) for name in names]
    if inner := [path.name for path in paths if path.suffix.lower() == ".zip"]:
        return f"{says} The archive {inner[0][:60]!r} is inside another one: unpack the outer one, and choose this."
    if deeper := [path.parent for path in paths if path.name in ("config.json", "headlight.toml")]:
        return f"{says} The folder {str(deeper[0])[:60]!r} has one: choose that folder."
    return says


def members_of(name: str, content: IO[bytes], most_mb: int) -> Iterator[tuple[str, IO[bytes]]]:
    if not name.lower().endswith(".zip"):
        yield safe(name), content
        return
    try:
        archive = zipfile.ZipFile(content)
        infos = [info for info in archive.infolist() if not info.is_dir()]
        if len(infos) > MOST_FILES or sum(info.file_size for info in infos) > most_mb << 20:
            raise CheckpointError(
                f"{name} holds {len(infos):,} files of {sum(info.file_size for info in infos) / 1e6:,.0f} MB; up to "
                f"{MOST_FILES} files of {most_mb} MB in all can be opened."
            )
        for info in infos:
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise CheckpointError(f"{name} is compressed in a way that is not opened; an ordinary .zip is.")
            if stat.S_ISLNK(info.external_attr >> 16):
                raise CheckpointError(f"{info.filename!r} in {name} is a link; archives of plain files open.")
            yield safe(info.filename), archive.open(info)
    except CheckpointError:
        raise
    except Exception as error:  # damaged archives fail in many ways
        raise CheckpointError(f"{name} is no archive that can be opened: {error}") from error


def hidden(name: str) -> bool:
    """Files that a system adds of its own."""
    return any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)


def safe(name: str) -> str:
    path = PurePosixPath(name.replace("\\", "/"))
    if not path.parts or path.is_absolute() or ".." in path.parts or ":" in path.parts[0] or "\0" in name:
        raise CheckpointError(f"{name!r} would be written elsewhere; nothing was opened.")
    return str(path)


def top_folder(names: Sequence[str]) -> bool:
    """Whether all lie in one folder, as those of an uploaded folder do."""
    tops = {PurePosixPath(name).parts[0] for name in names}
    return len(tops) == 1 and all(len(PurePosixPath(name).parts) > 1 for name in names)


def copy(source: IO[bytes], target: IO[bytes], *, most: int) -> int:
    """Copy what there really is, whatever the archive says of its size."""
    copied = 0
    try:
        while piece := source.read(STEP):
            copied += len(piece)
            if copied > most:
                raise CheckpointError("These files are larger than was said; no more can be opened.")
            target.write(piece)
    except (zipfile.BadZipFile, EOFError, zlib.error) as error:
        raise CheckpointError(f"The archive is damaged: {error}") from error
    return copied


class Room:
    """Bytes on the disk that the uploads of all visitors may take together."""

    def __init__(self, size: int) -> None:
        self._left, self._lock = size, threading.Lock()

    def has(self, size: int) -> bool:
        """Whether so many bytes are left."""
        return size <= self._left

    def take(self, size: int) -> None:
        """Raises CheckpointError where others take too much."""
        with self._lock:
            if size <= self._left:
                self._left -= size
                return
        raise CheckpointError("Other visitors' files fill the room that there is; try again when they have left.")

    def give(self, size: int) -> None:
        with self._lock:
            self._left += size

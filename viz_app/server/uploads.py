"""Unpack a visitor's files into the folder of a checkpoint: the files that `is_kept`, in one folder, up to a limit."""

import stat
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from model.checkpoints.checkpoint import CheckpointError
from model.messages import Message
from model.safety.folder_files import WEIGHTS, inner_folder, is_hidden, is_kept, why_no_weights

__all__ = ["Unpacked", "unpack"]

MOST_FILES = 200
CHUNK = 1 << 20  # bytes


@dataclass(frozen=True, kw_only=True)
class Unpacked:
    """What `unpack` has written."""

    size: int  # bytes
    left_out: tuple[str, ...] = ()  # names of the other files


def unpack(files: Sequence[tuple[str, IO[bytes]]], folder: Path, *, most_mb: int) -> Unpacked:
    """Write the files of a checkpoint into a folder. Other files, and files in subfolders, are left out.

    Args:
        files: Names, perhaps with a folder, and contents. One file may be a `.zip` of all files.
        folder: An empty folder.
        most_mb: The limit for all files together.

    Raises:
        CheckpointError: the files hold no checkpoint, are too large, or an archive is damaged or names files elsewhere.
    """
    unpacked = [member for name, content in files for member in members_of(name, content, most_mb)]
    members = {name: content for name, content in unpacked if not is_hidden(name)}
    home = PurePosixPath(inner_folder(title_of(files), list(members), may_lack_description=True))
    written, left_out = 0, []
    for name, content in members.items():
        path = PurePosixPath(name)
        if path.parent != home or not is_kept(path.name):
            left_out.append(str(path.relative_to(home)) if path.is_relative_to(home) else name)
            continue
        try:
            with (folder / path.name).open("wb") as target:
                written += copy(content, target, most=(most_mb << 20) - written)
        except OSError as error:
            raise CheckpointError(
                "{file} could not be written: {error}", file=path.name[:60], error=error.strerror
            ) from error
    if not any(path.suffix in WEIGHTS for path in folder.iterdir()):
        raise CheckpointError(why_no_weights(title_of(files), list(members)))
    return Unpacked(size=written, left_out=tuple(left_out))


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
        raise CheckpointError("{file} is not a .zip that can be opened: {error}", file=name, error=error) from error


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

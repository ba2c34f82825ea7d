"""Unpack a visitor's files into the folder of a checkpoint: only known kinds of files, in one folder, up to a limit."""

import stat
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import IO

from model.checkpoints.checkpoint import CheckpointError

__all__ = ["WEIGHTS", "unpack"]

MOST_FILES = 200
KNOWN = {".json", ".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".txt", ".model", ".spm", ".pkl", ".toml", ".md"}
WEIGHTS = (".safetensors", ".bin", ".pt", ".pth", ".ckpt")
CHUNK = 1 << 20  # bytes


def unpack(files: Sequence[tuple[str, IO[bytes]]], folder: Path, *, most_mb: int) -> int:
    """Write the files of a checkpoint into a folder. Other files, and files in subfolders, are left out.

    Args:
        files: Names, perhaps with a folder, and contents. One file may be a `.zip` of all files.
        folder: An empty folder.
        most_mb: The limit for all files together.

    Returns:
        The number of bytes written.

    Raises:
        CheckpointError: the files hold no checkpoint, are too large, or an archive is damaged or names files elsewhere.
    """
    unpacked = [member for name, content in files for member in members_of(name, content, most_mb)]
    members = [(name, content) for name, content in unpacked if not hidden(name)]
    depth = 1 if in_one_folder([name for name, _ in members]) else 0
    written = 0
    for name, content in members:
        parts = PurePosixPath(name).parts[depth:]
        if len(parts) != 1 or PurePosixPath(name).suffix.lower() not in KNOWN:
            continue
        try:
            with (folder / parts[0]).open("wb") as target:
                written += copy(content, target, most=(most_mb << 20) - written)
        except OSError as error:
            raise CheckpointError(
                "{file} could not be written: {error}", file=parts[0][:60], error=error.strerror
            ) from error
    require_checkpoint_files(folder, [name for name, _ in members])
    return written


def require_checkpoint_files(folder: Path, names: Sequence[str]) -> None:
    """Weights without a configuration may be recognised by their names."""
    if any(path.suffix in WEIGHTS for path in folder.iterdir()):
        return
    if not any((folder / name).exists() for name in ("config.json", "headlight.toml")):
        raise no_configuration(names)
    raise CheckpointError(
        "These files are not a checkpoint: there are no weights among them. Add a file that ends with {endings}.",
        endings=", ".join(WEIGHTS),
    )


def no_configuration(names: Sequence[str]) -> CheckpointError:
    """The error for files without a configuration. It names the place where one may be."""
    paths = [PurePosixPath(name) for name in names]
    if archives := [path.name for path in paths if path.suffix.lower() == ".zip"]:
        return CheckpointError(
            "These files are not a checkpoint: there is no config.json or headlight.toml among them. The archive "
            "“{archive}” is inside another archive. Unpack the outer archive first.",
            archive=archives[0][:60],
        )
    if folders := [path.parent for path in paths if path.name in ("config.json", "headlight.toml")]:
        return CheckpointError(
            "These files are not a checkpoint: there is no config.json or headlight.toml among them. The folder "
            "“{folder}” has one. Choose that folder.",
            folder=str(folders[0])[:60],
        )
    return CheckpointError("These files are not a checkpoint: there is no config.json or headlight.toml among them.")


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


def hidden(name: str) -> bool:
    """Whether an operating system added this file to an archive."""
    return any(part.startswith((".", "__MACOSX")) for part in PurePosixPath(name).parts)


def safe_name(name: str) -> str:
    """The name, if it stays inside the folder.

    Raises:
        CheckpointError: the name leads to another folder.
    """
    path = PurePosixPath(name.replace("\\", "/"))
    if not path.parts or path.is_absolute() or ".." in path.parts or ":" in path.parts[0] or "\0" in name:
        raise CheckpointError("The file “{file}” would be written outside the folder. Nothing was opened.", file=name)
    return str(path)


def in_one_folder(names: Sequence[str]) -> bool:
    """Whether all files are in one folder, as they are after the upload of a folder."""
    tops = {PurePosixPath(name).parts[0] for name in names}
    return len(tops) == 1 and all(len(PurePosixPath(name).parts) > 1 for name in names)


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

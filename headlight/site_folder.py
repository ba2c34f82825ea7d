"""The folder of a site: it is written as a whole or not at all, and no other file is lost."""

import json
import tempfile
from collections.abc import Collection, Iterable, Mapping, Set
from pathlib import Path, PurePosixPath

from model.config.section import ConfigError

__all__ = ["write_folder"]

GIT = ".git"  # a folder, or a file in a worktree; never read, moved or removed


def write_folder(folder: Path, files: Mapping[str, bytes], *, mark: str, lasting: Collection[str] = ()) -> None:
    """Write all files of a site, or none. A site of ours is replaced; any other folder with files stays.

    The folder may be a Git repository. Then what its owner added to the site stays too.

    Args:
        folder: The folder.
        files: Path → contents.
        mark: The file that every site of ours has. It lists the other ones.
        lasting: The paths of files that a person may change: where they exist, they stay.

    Raises:
        ConfigError: the folder has other files, or cannot be written.
    """
    present, own = files_in(folder), own_files(folder, mark)
    require_nothing_lost(folder, present - own.union(lasting if own else ()), files, in_site=bool(own))
    written = {path: content for path, content in files.items() if path not in lasting or path not in present}
    outdated = (present & own).difference(lasting)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as name:
            new, old = Path(name) / "new", Path(name) / "old"
            for path, content in written.items():
                (new / path).parent.mkdir(parents=True, exist_ok=True)
                (new / path).write_bytes(content)
            is_new = not folder.exists()
            try:
                move_all([(folder / path, old / path) for path in outdated])
                move_all([(new / path, folder / path) for path in written])
            except BaseException:
                move_all([(old / path, folder / path) for path in outdated if (old / path).exists()])
                remove_empty(folder, written)
                if is_new and folder.exists():
                    folder.rmdir()
                raise
        remove_empty(folder, outdated)
    except OSError as error:
        raise ConfigError(
            "{folder} cannot be written: {reason}. Choose another folder.", folder=folder, reason=error.strerror
        ) from error


def files_in(folder: Path) -> set[str]:
    """The paths of all files and links in a folder, without those of Git."""
    entries = [one for one in folder.iterdir() if one.name != GIT] if folder.is_dir() else []
    paths = (path for one in entries for path in (one, *one.rglob("*")))
    return {path.relative_to(folder).as_posix() for path in paths if path.is_symlink() or not path.is_dir()}


def own_files(folder: Path, mark: str) -> set[str]:
    """The paths of the files of the site in a folder; none where it is no site of ours."""
    try:
        return {mark, *json.loads((folder / mark).read_text(encoding="utf-8"))["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return set()


def require_nothing_lost(folder: Path, strange: Set[str], files: Iterable[str], *, in_site: bool) -> None:
    """Raise a ConfigError if a folder has files that are not of a site of ours.

    In a repository they may stay beside the site, where no file of the site takes their place.
    """
    if folder.is_file():
        raise ConfigError(
            "{folder} is a file. Choose the name of a folder, or a file with the ending .html.", folder=folder
        )
    if in_site and (folder / GIT).exists():
        places = {str(place) for path in files for place in (PurePosixPath(path), *PurePosixPath(path).parents)}
        strange = strange & places
    if strange:
        raise ConfigError(
            "{folder} has files that `publish` did not write, such as {file}. Choose a new folder, so that nothing is "
            "lost.",
            folder=folder,
            file=min(strange),
        )


def move_all(moves: Iterable[tuple[Path, Path]]) -> None:
    """Move files, or none of them."""
    begun: list[tuple[Path, Path]] = []
    try:
        for source, target in moves:
            target.parent.mkdir(parents=True, exist_ok=True)
            begun.append((source, target))
            source.rename(target)
    except BaseException:
        for source, target in reversed(begun):
            if not source.exists():
                target.rename(source)
        raise


def remove_empty(folder: Path, paths: Iterable[str]) -> None:
    """Remove the folders of these paths that have no file now."""
    parents = {parent for path in paths for parent in PurePosixPath(path).parents if parent.name}
    for parent in sorted(parents, key=lambda one: len(one.parts), reverse=True):
        place = folder / parent
        if place.is_dir() and not any(place.iterdir()):
            place.rmdir()

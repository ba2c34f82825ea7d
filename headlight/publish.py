"""`headlight publish`: write a site, in which checkpoints run in the visitor's browser."""

import argparse
import json
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from model.cli.arguments import Command
from model.cli.resolve import folder_at, with_note
from model.config.section import ConfigError
from model.files import replace_file
from model.inference.opening import open_checkpoint

if TYPE_CHECKING:
    from viz_app.export.site import Published

__all__ = ["publish", "write_folder"]


def run(args: argparse.Namespace) -> None:
    from viz_app.export import site  # only this command needs the pages and the app's pictures
    from viz_app.export.hub import hub_hosts

    hub = () if args.hub is None else hub_hosts(args.hub)
    folders = list(dict.fromkeys(folder_at(name) for name in args.checkpoints))
    checkpoints = [with_pairs(site.published(folder)) for folder in folders]
    names = [one.name for one in checkpoints]
    if repeated := next((name for name in names if names.count(name) > 1), ""):
        raise ConfigError("Two checkpoints have the name {name}. Rename one of their folders.", name=repeated)
    out = Path(args.out)
    if out.suffix == ".html":
        page = site.site_file(checkpoints, hub=hub)
        require_own_file(out, site.GENERATOR)
        replace_file(out, page)
        print(f"{out} has {len(page) / 1e6:.1f} MB. It opens in any browser, also from a disk.")
    else:
        files = site.site_files(checkpoints, hub=hub)
        write_folder(out, files, mark=site.MARK)
        size = sum(map(len, files.values())) / 1e6
        print(f"{out} has {size:.1f} MB. Copy it to any web server, or run: python -m http.server -d {out}")


def with_pairs(one: "Published") -> "Published":
    """The checkpoint, opened once to see that it works: its tokenizer says whether it reads pairs."""
    opened = open_checkpoint(one.folder)
    with_note(opened)
    return replace(one, pairs=bool(opened.tokenizers.specials.separator))


publish = Command(
    about="write a folder of static files, in which checkpoints run in the visitor's browser",
    options={
        "checkpoints": {"nargs": "+", "metavar": "CHECKPOINT", "help": "names or folders of models"},
        "--out": {"required": True, "help": "the folder, or one file with the ending .html"},
        "--hub": {
            "nargs": "*",
            "metavar": "URL",
            "help": "let visitors open models by their names from the Hugging Face Hub, or from a mirror at URL; more "
            "URLs are the hosts to which the mirror redirects",
        },
    },
    run=run,
)


def write_folder(folder: Path, files: Mapping[str, bytes], *, mark: str) -> None:
    """Write all files of a site, or none. A site of ours is replaced; any other folder with files stays.

    Args:
        folder: The folder.
        files: Path → contents.
        mark: The file that every site of ours has.

    Raises:
        ConfigError: the folder has other files, or cannot be written.
    """
    require_own_or_empty(folder, mark)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name}-") as name:
            new, old = Path(name) / "new", Path(name) / "old"
            for path, content in files.items():
                (new / path).parent.mkdir(parents=True, exist_ok=True)
                (new / path).write_bytes(content)
            if folder.exists():
                folder.rename(old)
            try:
                new.rename(folder)
            except OSError:
                if old.exists():
                    old.rename(folder)
                raise
            shutil.rmtree(old, ignore_errors=True)
    except OSError as error:
        raise ConfigError(
            "{folder} cannot be written: {reason}. Choose another folder.", folder=folder, reason=error.strerror
        ) from error


def require_own_or_empty(folder: Path, mark: str) -> None:
    """Raises ConfigError if a folder has a file that is not of a site of ours."""
    if folder.is_file():
        raise ConfigError(
            "{folder} is a file. Choose the name of a folder, or a file with the ending .html.", folder=folder
        )
    if not folder.exists() or not any(folder.iterdir()):
        return
    try:
        known = {mark, *json.loads((folder / mark).read_text(encoding="utf-8"))["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        known = set()
    present = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if not path.is_dir()}
    if strange := sorted(present - known):
        raise ConfigError(
            "{folder} has files that `publish` did not write, such as {file}. Choose a new folder, so that nothing is "
            "lost.",
            folder=folder,
            file=strange[0],
        )


def require_own_file(file: Path, generator: str) -> None:
    """Raises ConfigError if a file exists that is no page of ours."""
    if file.exists() and not (file.is_file() and generator.encode() in file.read_bytes()[:4096]):
        raise ConfigError(
            "`publish` did not write {file}. Choose the name of a new file, so that nothing is lost.", file=file
        )

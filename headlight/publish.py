"""`headlight publish`: write a site, in which checkpoints run in the visitor's browser."""

import argparse
import zipfile
import zlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from headlight.site_folder import write_folder
from model.cli.arguments import Command
from model.cli.resolve import folder_at, with_note
from model.config.section import ConfigError
from model.files import replace_file
from model.inference.opening import open_checkpoint

if TYPE_CHECKING:
    from viz_app.export.site import Published

__all__ = ["publish"]


def run(args: argparse.Namespace) -> None:
    from viz_app.export import git_host, scorm, site  # only this command needs the pages and the app's pictures
    from viz_app.export.live_page import hub_hosts

    out, hub = Path(args.out), () if args.hub is None else hub_hosts(args.hub)
    require_fitting(out, args)
    folders = list(dict.fromkeys(folder_at(name) for name in args.checkpoints))
    checkpoints = [opened(site.published(folder), atlas=args.atlas) for folder in folders]
    if args.atlas:
        require_atlas(checkpoints)
    names = [one.name for one in checkpoints]
    if repeated := next((name for name in names if names.count(name) > 1), ""):
        raise ConfigError("Two checkpoints have the name {name}. Rename one of their folders.", name=repeated)
    if args.scorm:
        package = scorm.scorm_package(checkpoints, lesson=args.lesson)
        require_own_file(out, site.GENERATOR)
        replace_file(out, package)
        print(f"{out} has {len(package) / 1e6:.1f} MB. Add it to a course of your learning platform as SCORM 1.2.")
    elif out.suffix == ".html":
        page = site.site_file(checkpoints, hub=hub)
        require_own_file(out, site.GENERATOR)
        replace_file(out, page)
        print(f"{out} has {len(page) / 1e6:.1f} MB. It opens in any browser, also from a disk.")
    else:
        extra = git_host.git_host_files()
        files = {**site.site_files(checkpoints, hub=hub), **(extra if args.pages else {})}
        write_folder(out, files, mark=site.MARK, lasting=extra)
        size = sum(map(len, files.values())) / 1e6
        print(f"{out} has {size:.1f} MB. Copy it to any web server, or run: python -m http.server -d {out}")
        if args.pages:
            print("To publish it at each push, make it a Git repository and push it to GitHub or GitLab.")


def require_fitting(out: Path, args: argparse.Namespace) -> None:
    """Raise a ConfigError if options contradict each other or the name of the output."""
    if args.scorm and out.suffix != ".zip":
        raise ConfigError("A package is one file with the ending .zip, and --out is {out}. Change --out.", out=out)
    if out.suffix == ".zip" and not args.scorm:
        raise ConfigError("{out} would be a package. Add --scorm, or give --out the name of a folder.", out=out)
    if args.lesson and not args.scorm:
        raise ConfigError("--lesson {lesson} needs --scorm: only a package can have one lesson.", lesson=args.lesson)
    if args.scorm and args.hub is not None:
        raise ConfigError("A package asks no other host. Leave out --hub or --scorm.")
    if args.pages and (args.scorm or out.suffix == ".html"):
        raise ConfigError("--pages needs a folder, and --out is {out}. Change --out, or leave out --pages.", out=out)


def opened(one: "Published", *, atlas: bool) -> "Published":
    """The checkpoint, opened once to see that it works: its tokenizer says whether it reads pairs.

    Args:
        one: As its folder describes it.
        atlas: Add its atlas, where it has one.
    """
    from viz_app.export.site import atlas_of

    checkpoint = with_note(open_checkpoint(one.folder))
    pairs = bool(checkpoint.tokenizers.specials.separator)
    return replace(one, pairs=pairs, atlas=atlas_of(checkpoint, one.folder) if atlas else None)


def require_atlas(checkpoints: Sequence["Published"]) -> None:
    """Raise a ConfigError if no checkpoint has an atlas."""
    if all(one.atlas is None for one in checkpoints):
        raise ConfigError(
            "No checkpoint has an atlas. Make one: python -m model atlas {folder} --corpus texts.txt --out "
            "{folder}/atlas",
            folder=checkpoints[0].folder,
        )


publish = Command(
    about="write a folder of static files, in which checkpoints run in the visitor's browser",
    options={
        "checkpoints": {"nargs": "+", "metavar": "CHECKPOINT", "help": "names or folders of models"},
        "--out": {"required": True, "help": "the folder, one file with the ending .html, or a package"},
        "--scorm": {
            "action": "store_true",
            "help": "write a package for a learning platform: SCORM 1.2, one file with the ending .zip",
        },
        "--lesson": {"default": "", "metavar": "NAME", "help": "the one lesson of the package, such as positions"},
        "--pages": {
            "action": "store_true",
            "help": "also write what GitHub and GitLab need to publish the folder at each push",
        },
        "--atlas": {
            "action": "store_true",
            "help": "add the page Atlas for each checkpoint that has an atlas in its folder",
        },
        "--hub": {
            "nargs": "*",
            "metavar": "URL",
            "help": "let visitors open models by their names from the Hugging Face Hub, or from a mirror at URL; more "
            "URLs are the hosts to which the mirror redirects",
        },
    },
    run=run,
)


def require_own_file(file: Path, generator: str) -> None:
    """Raises ConfigError if a file exists that is no page of ours."""
    if file.exists() and not (file.is_file() and generator.encode() in start_of_page(file)):
        raise ConfigError(
            "`publish` did not write {file}. Choose the name of a new file, so that nothing is lost.", file=file
        )


def start_of_page(file: Path) -> bytes:
    """The first bytes of a page, or of the page in a package; none where there is no page."""
    try:
        with zipfile.ZipFile(file) as package, package.open("index.html") as page:
            return page.read(4096)
    except zipfile.BadZipFile:
        return file.read_bytes()[:4096]
    except (KeyError, RuntimeError, EOFError, zlib.error):  # no such file in it, or one with a password or damage
        return b""

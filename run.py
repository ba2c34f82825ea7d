#!/usr/bin/env python3
"""One command per task, on a machine with only Python and git.

python run.py app      open the app in a browser    (options go to Streamlit: --server.port 9000)
python run.py headlight publish everyday-en-de --out one.html    (or another command of `python -m headlight`)
python run.py test     run the tests                (options go to pytest: -m quick)
python run.py check    lint, formatting and types   (optional: only these Python files and folders)
python run.py format   repair and format the code   (optional: only these files and folders)

The first run makes an environment in .venv and installs the pinned packages. This takes some minutes, once.
HEADLIGHT_VENV names another folder for the environment.
"""

import contextlib
import functools
import hashlib
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from pathlib import Path


def too_old(version: "tuple[int, ...]") -> str:
    """A sentence if this Python cannot run Headlight, else nothing. This file keeps to what Python 3.6 can read."""
    if version >= (3, 11):
        return ""
    found, newer = ".".join(map(str, version[:2])), "Install a newer one (python.org/downloads), or name it"
    return f"Headlight needs Python 3.11 or newer, and this is Python {found}. {newer}: python3.11 run.py app"


if too_old(tuple(sys.version_info[:2])):
    sys.exit(too_old(tuple(sys.version_info[:2])))

ROOT = Path(__file__).resolve().parent
VENV = Path(os.environ.get("HEADLIGHT_VENV") or ROOT / ".venv").absolute()
APP, ALL = ROOT / "requirements.txt", ROOT / "requirements-dev.txt"  # the second includes the first
STAMP, UNFINISHED = "headlight-stamp", "unfinished"
say = functools.partial(print, flush=True)  # before the lines of the program that comes next


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


def interpreter(folder: Path) -> str:
    """The Python of an environment."""
    return str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def version_of(folder: Path) -> str:
    """The version of an environment's Python, such as "3.11"; empty if it is missing or does not start."""
    command = [interpreter(folder), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def pins(requirements: Path) -> list[str]:
    """The lines of a requirements file and of the files that it includes, without comments."""
    lines = [line.partition("#")[0].strip() for line in read(requirements).splitlines()]
    included = [pin for line in lines if line.startswith("-r ") for pin in pins(requirements.parent / line[3:])]
    return included + [line for line in lines if line and not line.startswith("-r ")]


def stamp_of(requirements: Path, version: str) -> str:
    """The text of the stamp if exactly these requirements are installed for this version of Python."""
    return f"{version} {hashlib.sha256(repr(pins(requirements)).encode()).hexdigest()}"


def is_ready(folder: Path, requirements: Path) -> bool:
    """Whether everything that is pinned now is installed. An environment for the tests also serves the app."""
    version = version_of(folder)  # empty if the Python is broken: no stamp begins so
    return read(folder / STAMP) in {stamp_of(each, version) for each in (requirements, ALL)}


@contextlib.contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Let one process at a time make the environment."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with open(f"{folder}.lock", "w", encoding="utf-8") as file:
        for attempt in range(sys.maxsize):
            try:
                if sys.platform == "win32":
                    import msvcrt

                    msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
                else:
                    import fcntl

                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                if attempt == 0:
                    say(f"Another command is making {folder}. Waiting until it is done.")
                time.sleep(0.2)
        yield


def prepare(folder: Path, requirements: Path) -> None:
    """Make or complete the environment if it is not ready. What the app needs stays while packages for the tests come.

    It is made again if something in it is broken, or was left half done. Another folder is never replaced.
    """
    if is_ready(folder, requirements):
        return
    with locked(folder):
        if is_ready(folder, requirements):  # another command has made it
            return
        if not is_ready(folder, APP):
            make(folder)
        say(f"Installing the packages of {requirements.name} in {folder}. This takes some minutes, once.")
        options = ("--disable-pip-version-check", "--no-input", "--requirement", str(requirements))
        if call(folder, "pip", "install", *options):
            remedy = "Installing needs the internet once: connect, then run the same command again."
            sys.exit(f"The packages could not be installed. {remedy}")
        (folder / STAMP).write_text(stamp_of(requirements, version_of(folder)), encoding="utf-8")


def make(folder: Path) -> None:
    """Make an environment with only pip, in place of an earlier one of ours."""
    if importlib.util.find_spec("ensurepip") is None:
        package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
        sys.exit(f"This Python cannot install pip. On Debian and Ubuntu: sudo apt install {package}")
    if folder.exists() and any(folder.iterdir()) and not (folder / STAMP).exists():
        sys.exit(f"run.py did not make {folder}. Rename that folder, or name another one in HEADLIGHT_VENV.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / STAMP).write_text(UNFINISHED, encoding="utf-8")  # it stays ours if this is stopped at any moment
        for path in folder.iterdir():
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif path.name != STAMP:
                path.unlink()
        venv.create(folder, symlinks=os.name != "nt")
    except OSError as error:
        sys.exit(f"{folder} cannot be made ({error}). Close the programs that use it, or remove the folder.")
    if call(folder, "ensurepip", "--default-pip"):
        sys.exit(f"pip could not be installed in {folder}.")


def call(folder: Path, *module: str) -> int:
    """Run `python -m` in the environment, in the root of the repository, and return its exit code."""
    path = os.pathsep.join((os.path.dirname(interpreter(folder)), os.environ.get("PATH", os.defpath)))

    def stop(number: int, _frame: object) -> None:
        sys.exit(128 + number)  # no further tool starts

    usual = signal.signal(signal.SIGTERM, stop)  # before the tool starts, which would stay if we ended without it
    try:
        with subprocess.Popen([interpreter(folder), "-m", *module], cwd=ROOT, env=os.environ | {"PATH": path}) as tool:
            try:
                code = tool.wait()
            except KeyboardInterrupt:  # Ctrl-C reaches the tool itself, which ends in its own way
                tool.wait()
                sys.exit(128 + signal.SIGINT)
            except SystemExit:
                tool.terminate()  # the end of `with` waits for it
                raise
    finally:
        signal.signal(signal.SIGTERM, usual)
    return code if code >= 0 else 128 - code


def tools(command: str, options: "tuple[str, ...]") -> "list[tuple[str, ...]]":
    """The modules that a command runs, with their arguments; none for an unknown command."""
    places = options or (".",)
    quick = "quick" in options  # these tests open no page and start no process
    return {
        "app": [("streamlit", "run", "streamlit_app.py", *options)],
        "headlight": [("headlight", *options)],
        "test": [*([] if quick else [("tests.programs",)]), ("pytest", *options)],
        "check": [
            ("ruff", "check", *places),
            ("ruff", "format", "--check", *places),
            ("mypy", *options),
            *([] if options else [("tests.javascript.check",)]),
        ],
        "format": [("ruff", "check", "--fix", *places), ("ruff", "format", *places)],
    }.get(command, [])


def main(command: str = "--help", *options: str) -> int:
    if command in ("-h", "--help"):
        say(__doc__)
        return 0
    if not tools(command, options):
        known = "app, headlight, test, check and format"
        say(f'run.py has no command "{command}". Its commands are {known}.', file=sys.stderr)
        return 2
    prepare(VENV, APP if command in ("app", "headlight") else ALL)
    return next(filter(None, (call(VENV, *tool) for tool in tools(command, options))), 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

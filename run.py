#!/usr/bin/env python3
"""One command per task, on a machine with only Python and git.

python run.py app      open the app in a browser    (options go to Streamlit: --server.port 9000)
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
import re
import shutil
import signal
import subprocess
import sys
import time
import venv
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

OLDEST = (3, 11)


def too_old(version: "tuple[int, ...]") -> str:
    """A sentence if this Python cannot run Headlight, else nothing. This file keeps to what Python 3.6 can read."""
    if version >= OLDEST:
        return ""
    needed, found = ".".join(map(str, OLDEST)), ".".join(map(str, version[:2]))
    newer = f"Install a newer one (python.org/downloads), or name it: python{needed} run.py app"
    return f"Headlight needs Python {needed} or newer, and this is Python {found}. {newer}"


if too_old(tuple(sys.version_info[:2])):
    sys.exit(too_old(tuple(sys.version_info[:2])))

ROOT = Path(__file__).resolve().parent
VENV = Path(os.environ.get("HEADLIGHT_VENV") or ROOT / ".venv").absolute()
APP, ALL = ROOT / "requirements.txt", ROOT / "requirements-dev.txt"  # the second includes the first
STAMP, LOG, UNFINISHED = "headlight-stamp", "pip.log", "unfinished"
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
# Programs that tests use: one of these names, or else these packages of Debian.
PROGRAMS = ((BROWSERS, ("chromium", "fonts-noto-cjk")), (("nginx",), ("nginx-light",)), (("g++",), ("g++",)))
THIS_PYTHON = f"{sys.version_info[0]}.{sys.version_info[1]}"
say = functools.partial(print, flush=True)


def interpreter(folder: Path) -> str:
    """The Python of an environment."""
    return str(folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python"))


def version_of(folder: Path) -> str:
    """The version of an environment's Python, such as "3.11"; empty if it is missing or does not start."""
    command = [interpreter(folder), "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return ""


def pins(requirements: Path) -> list[str]:
    """The lines of a requirements file and of the files that it includes, without comments."""
    lines = [line.partition("#")[0].strip() for line in read(requirements).splitlines()]
    included = [pin for line in lines if line.startswith("-r ") for pin in pins(requirements.parent / line[3:])]
    return included + [line for line in lines if line and not line.startswith("-r ")]


def read(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace") if path.is_file() else ""


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
    """Make or complete the environment if it is not ready."""
    if is_ready(folder, requirements):
        return
    with locked(folder):
        if is_ready(folder, requirements):  # another command has made it
            return
        if read(folder / STAMP) != stamp_of(APP, version_of(folder)):  # else only packages for the tests are missing
            make(folder)
        install(folder, requirements)


def make(folder: Path) -> None:
    """Make an environment with only pip. It replaces an environment of ours, never another folder."""
    if importlib.util.find_spec("ensurepip") is None:
        sys.exit(f"This Python cannot install pip. On Debian and Ubuntu: sudo apt install python{THIS_PYTHON}-venv")
    old = folder.with_name(f"{folder.name}.old")
    try:
        if is_filled(folder):
            require_ours(folder)
            require_ours(old)
            say("The environment is incomplete, or other versions are pinned now. It is made again.")
            remove(old)
            folder.rename(old)  # Windows refuses this as a whole while a program in it runs
        if (old / STAMP).exists():
            remove(old)
        folder.mkdir(exist_ok=True)
        (folder / STAMP).write_text(UNFINISHED, encoding="utf-8")
    except OSError as error:
        sys.exit(f"{folder} cannot be replaced ({error}). Close the programs that use it, or remove the folder.")
    venv.create(folder, symlinks=os.name != "nt")
    follow(folder, "ensurepip", "--default-pip", title="Installing pip")


def is_filled(folder: Path) -> bool:
    return folder.exists() and any(folder.iterdir())


def require_ours(folder: Path) -> None:
    """Exit with a message if a folder is not empty and does not have our stamp."""
    if is_filled(folder) and not (folder / STAMP).exists():
        sys.exit(f"run.py did not make {folder}. Rename that folder, or name another one in HEADLIGHT_VENV.")


def remove(folder: Path) -> None:
    """Remove an environment that we made. If a program still uses a file of it, the folder keeps our stamp."""
    try:
        shutil.rmtree(folder, ignore_errors=True)
    finally:
        if folder.exists():
            (folder / STAMP).write_text(UNFINISHED, encoding="utf-8")


def install(folder: Path, requirements: Path) -> None:
    """Install the pinned packages, then write the stamp. If pip fails before it changes anything, restore the stamp."""
    before = read(folder / STAMP)
    (folder / STAMP).write_text(UNFINISHED, encoding="utf-8")
    say(f"Installing the packages of {requirements.name} in {folder}. This takes some minutes, once.")
    options = ("--disable-pip-version-check", "--no-input", "--progress-bar=off", "--requirement", str(requirements))
    try:
        follow(folder, "pip", "install", *options, title="Looking for packages")
    except SystemExit:
        if "Installing collected packages" not in read(folder / LOG):
            (folder / STAMP).write_text(before, encoding="utf-8")
        raise
    (folder / STAMP).write_text(stamp_of(requirements, version_of(folder)), encoding="utf-8")


def progress(log: str, new: int) -> str:
    """A line about the progress of pip, from its log and the number of new packages."""
    queue = re.findall(r"^Installing collected packages: (.+)", log, re.M)
    if queue:
        names = queue[-1].split(", ")
        return f"Installing {names[min(new, len(names) - 1)]} ({min(new + 1, len(names))} of {len(names)})"
    steps = re.findall(r"^ *(Collecting|Downloading|Processing|Using cached) (\S+)(?: \(([\d.]+ \wB)\))?", log, re.M)
    names = [re.split(r"[=<>!~;\[]|-\d", word.rpartition("/")[2])[0] for _, word, _ in steps]
    count = sum(verb in ("Collecting", "Processing") for verb, _, _ in steps)
    return f"Fetching {' '.join(filter(None, (names[-1], steps[-1][2])))} (packages found: {count})" if steps else ""


def follow(folder: Path, *module: str, title: str) -> None:
    """Run a module that installs, and show its progress: one changing line in a terminal, otherwise some lines."""
    found = f"{'Lib' if os.name == 'nt' else 'lib/python*'}/site-packages/*.dist-info"
    before, start, due, shown = len([*folder.glob(found)]), time.monotonic(), 0.0, ""
    width = shutil.get_terminal_size().columns - 1
    with (folder / LOG).open("wb") as log, start_module(folder, *module, output=log) as process:
        try:
            while process.poll() is None:
                seconds = time.monotonic() - start
                line = progress(read(folder / LOG), len([*folder.glob(found)]) - before) or title
                if sys.stdout.isatty():
                    say(f"\r{line}, {seconds:.0f} s".ljust(width)[:width], end="")
                elif seconds >= due and line != shown:
                    say(line)
                    shown, due = line, seconds + 10
                time.sleep(0.1)
        finally:
            process.terminate()
            say("\n" if sys.stdout.isatty() else "", end="")
    if process.returncode:
        tail = "\n".join(read(folder / LOG).splitlines()[-10:])
        remedy = "Installing needs the internet once: connect, then run the same command again."
        sys.exit(f"{tail}\nThe packages could not be installed. {remedy} All lines of pip are in {folder / LOG}")


def start_module(folder: Path, *module: str, output: BinaryIO | None = None) -> subprocess.Popen[bytes]:
    """Start `python -m` in the environment, in the root of the repository."""
    path = os.pathsep.join((os.path.dirname(interpreter(folder)), os.environ.get("PATH", os.defpath)))
    errors = subprocess.STDOUT if output else None
    at_once = ["-u"] if output else []  # each line is in the file at once
    command = [interpreter(folder), *at_once, "-m", *module]
    return subprocess.Popen(command, cwd=ROOT, env=os.environ | {"PATH": path}, stdout=output, stderr=errors)


def call(folder: Path, *module: str) -> int:
    """Run a tool and return its exit code."""
    with start_module(folder, *module) as tool:
        try:
            code = tool.wait()
        except SystemExit as end:
            if end.code != 128 + signal.SIGINT:  # Ctrl-C reaches the tool itself, which ends in its own way
                tool.terminate()
            raise
    return code if code >= 0 else 128 - code


def add_programs(folder: Path) -> None:
    """Install the other programs of the tests: all of them as root on Debian, elsewhere a browser from Playwright."""
    path = os.pathsep.join((os.environ.get("PATH", os.defpath), "/usr/sbin"))
    lists = [packages for names, packages in PROGRAMS if not any(shutil.which(name, path=path) for name in names)]
    missing = [package for packages in lists for package in packages]
    if missing and shutil.which("apt-get") and hasattr(os, "geteuid") and os.geteuid() == 0:
        say(f"Installing {', '.join(missing)} with apt-get.")
        for command in (["update"], ["install", "-y", "--no-install-recommends", *missing]):
            variables = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
            subprocess.run(["apt-get", "-qq", *command], env=variables, stdout=subprocess.DEVNULL, check=False)
    if not any(map(shutil.which, BROWSERS)) and call(folder, "playwright", "install", "chromium"):
        say("No browser could be installed. The tests that need one are left out; where CI=true they fail.")


def tools(command: str, options: "tuple[str, ...]") -> "list[tuple[str, ...]]":
    """The modules that a command runs, with their arguments; none for an unknown command."""
    places = options or (".",)
    return {
        "app": [("streamlit", "run", "streamlit_app.py", *options)],
        "test": [("pytest", *options)],
        "check": [
            *(("ruff", "check", *places), ("ruff", "format", "--check", *places), ("mypy", *options)),
            *([] if options else [("tests.javascript.check",)]),
        ],
        "format": [("ruff", "check", "--fix", *places), ("ruff", "format", *places)],
    }.get(command, [])


def main(command: str = "--help", *options: str) -> int:
    if command in ("-h", "--help"):
        say(__doc__)
        return 0
    if not tools(command, options):
        say(f'run.py has no command "{command}". Its commands are app, test, check and format.', file=sys.stderr)
        return 2
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: sys.exit(128 + number))
    prepare(VENV, APP if command == "app" else ALL)
    if version_of(VENV) != THIS_PYTHON:
        say(f"This runs on Python {version_of(VENV)} of {VENV}. Remove that folder to run on Python {THIS_PYTHON}.")
    if command == "test" and "quick" not in options:  # quick tests open no page and start no process
        add_programs(VENV)
    return next(filter(None, [call(VENV, *tool) for tool in tools(command, options)]), 0)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

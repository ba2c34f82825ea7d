"""The environment of run.py is made, completed, repaired and never used half made; wrong use gets a sentence."""

import ast
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import run
from tests.conftest import PATIENCE

PINS = {"requirements.txt": "lamp==1.0  # a comment\n", "requirements-dev.txt": "-r requirements.txt\npytest==9.0\n"}
# Stands in for pip: installs a folder for each pinned package. The file `offline` has it fail before it installs
# anything, the file `full` when half is done.
PIP = """
import pathlib, re, sys
here = pathlib.Path(__file__).parent.parent
site = next(pathlib.Path(sys.prefix).glob("[Ll]ib/**/site-packages"))
def pins(path):
    for line in path.read_text().splitlines():
        yield from pins(path.parent / line[3:]) if line.startswith("-r ") else [line.split()[0]]
names = [pin.replace("==", "-") for pin in pins(pathlib.Path(sys.argv[-1]))]
if (here / "offline").exists():
    sys.exit("ERROR: no network")
for name in names:
    (site / f"{name}.dist-info").mkdir(exist_ok=True)
    if (here / "full").exists():
        sys.exit("ERROR: no space left on device")
with (here / "calls").open("a") as calls:
    calls.write("installed ")
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with requirements, and with a pip and an ensurepip that fetch nothing."""
    for name, text in PINS.items():
        (tmp_path / name).write_text(text)
    for module, text in {"pip": PIP, "ensurepip": ""}.items():
        (tmp_path / module).mkdir()
        (tmp_path / module / "__init__.py").touch()  # without it Python would prefer the real one
        (tmp_path / module / "__main__.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(run, "APP", tmp_path / "requirements.txt")
    monkeypatch.setattr(run, "ALL", tmp_path / "requirements-dev.txt")
    return tmp_path


def packages(folder: Path) -> set[str]:
    return {path.stem for path in folder.glob("[Ll]ib/**/site-packages/*.dist-info")}


def installs(here: Path) -> int:
    return run.read(here / "calls").count("installed")


def test_the_environment_is_made_once_and_completed_for_the_tests(here: Path) -> None:
    folder = here / "venv"
    for _ in range(2):
        run.prepare(folder, run.APP)
        assert packages(folder) == {"lamp-1.0"}
    (folder / "kept").touch()
    run.prepare(folder, run.ALL)
    run.prepare(folder, run.APP)  # which the environment of the tests serves
    assert packages(folder) == {"lamp-1.0", "pytest-9.0"}
    assert (folder / "kept").exists()
    assert installs(here) == 2


def test_other_pins_make_it_again_and_other_comments_do_not(here: Path) -> None:
    folder = here / "venv"
    run.prepare(folder, run.ALL)
    run.APP.write_text("lamp==1.0  # another comment\n\n")
    run.prepare(folder, run.ALL)
    assert installs(here) == 1
    run.APP.write_text("lamp==2.0\n")
    run.prepare(folder, run.ALL)
    assert packages(folder) == {"lamp-2.0", "pytest-9.0"}  # nothing of the old version is left
    assert {path.name for path in here.glob("venv*")} == {"venv", "venv.lock"}


def break_the_python(folder: Path) -> None:
    Path(run.interpreter(folder)).unlink()


def stop_halfway(folder: Path) -> None:
    (folder / run.STAMP).write_text(run.UNFINISHED)


def take_another_python(folder: Path) -> None:
    (folder / run.STAMP).write_text(run.stamp_of(run.APP, "3.1"))


@pytest.mark.parametrize("damage", [break_the_python, stop_halfway, take_another_python])
def test_a_broken_environment_is_made_again(here: Path, damage: Callable[[Path], None]) -> None:
    folder = here / "venv"
    run.prepare(folder, run.APP)
    (folder / "left over").touch()
    damage(folder)
    assert not run.is_ready(folder, run.APP)
    run.prepare(folder, run.APP)
    assert run.is_ready(folder, run.APP)
    assert not (folder / "left over").exists()


def test_an_environment_with_an_interrupted_installation_is_never_used(here: Path) -> None:
    folder = here / "venv"
    (here / "full").touch()
    with pytest.raises(SystemExit, match="could not be installed"):
        run.prepare(folder, run.ALL)
    assert not run.is_ready(folder, run.ALL)
    (here / "full").unlink()
    run.prepare(folder, run.ALL)
    assert packages(folder) == {"lamp-1.0", "pytest-9.0"}


def test_the_app_still_starts_when_the_packages_of_the_tests_cannot_be_fetched(here: Path) -> None:
    folder = here / "venv"
    run.prepare(folder, run.APP)
    (here / "offline").touch()
    with pytest.raises(SystemExit, match="needs the internet once"):
        run.prepare(folder, run.ALL)
    assert run.is_ready(folder, run.APP)
    assert not run.is_ready(folder, run.ALL)
    (here / "offline").unlink()
    (here / "full").touch()
    with pytest.raises(SystemExit, match="could not be installed"):
        run.prepare(folder, run.ALL)
    assert run.is_ready(folder, run.APP)  # pip adds packages, and does not change those of the app
    (here / "full").unlink()
    run.prepare(folder, run.ALL)
    assert packages(folder) == {"lamp-1.0", "pytest-9.0"}


def test_a_folder_that_run_did_not_make_is_left_alone(here: Path) -> None:
    folder = here / "venv"
    folder.mkdir()
    (folder / "mine").touch()
    with pytest.raises(SystemExit, match=r"did not make .*venv\. Rename that folder, or name another one"):
        run.prepare(folder, run.APP)
    assert [path.name for path in folder.iterdir()] == ["mine"]


def test_two_commands_at_once_make_one_environment(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = here / "venv"
    monkeypatch.setattr(run.signal, "signal", lambda *_: None)  # only the main thread may set one
    threads = [threading.Thread(target=run.prepare, args=(folder, run.APP)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert installs(here) == 1
    assert run.is_ready(folder, run.APP)


def start(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, run.__file__, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=PATIENCE)


def test_an_unknown_command_gets_a_sentence_and_makes_nothing(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADLIGHT_VENV", str(here / "venv"))
    done = start("tset")
    assert done.returncode == 2
    assert done.stderr == 'run.py has no command "tset". Its commands are app, headlight, test, check and format.\n'
    assert start().stdout == start("--help").stdout == f"{run.__doc__}\n"
    assert not (here / "venv").exists()


def test_the_tool_gets_further_arguments_and_its_exit_code_comes_back(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = here / "venv"
    run.prepare(folder, run.ALL)
    (here / "pytest.py").write_text("import os, sys\nprint(*sys.argv[1:], os.getcwd())\nsys.exit(5)")
    with pytest.raises(SystemExit) as ended:
        sys.exit(run.call(folder, *run.tools("test", ("-m", "quick"))[0]))
    assert ended.value.code == 5
    assert run.tools("headlight", ("translate", "toy"))[0] == ("headlight", "translate", "toy")
    assert run.tools("check", ("model",))[0] == ("ruff", "check", "model")
    assert run.tools("check", ())[2] == ("mypy",)


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_tool_ends_with_the_command(here: Path, number: signal.Signals, code: int) -> None:
    folder = here / "venv"
    run.prepare(folder, run.APP)
    slow = "import time\ntry:\n  print('on', flush=True)\n  time.sleep(9999)\nfinally: print('off')"
    (here / "slow.py").write_text(slow)
    # A shell lets what it starts in the background ignore Ctrl-C.
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    program = f"{heard}; import pathlib, run; run.call(pathlib.Path({str(folder)!r}), 'slow'); print('the next tool')"
    command = [sys.executable, "-c", program]
    paths = os.pathsep.join((str(here), str(run.ROOT)))
    environment = os.environ | {"PYTHONPATH": paths}
    with subprocess.Popen(
        command, env=environment, start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as started:
        assert started.stdout is not None
        assert started.stdout.readline() == "on\n"
        if number == signal.SIGINT:
            os.killpg(started.pid, number)  # as a terminal does: run.py and the tool get it
        else:
            started.send_signal(number)
        rest = started.communicate(timeout=PATIENCE)[0]  # returns when the tool has closed its output too
    assert started.returncode == code
    assert rest == ("off\n" if number == signal.SIGINT else "")


@pytest.mark.parametrize("version", [(2, 7), (3, 6), (3, 10)])
def test_an_older_python_gets_a_sentence(version: tuple[int, int]) -> None:
    sentence = run.too_old(version)
    assert sentence.startswith(f"Headlight needs Python 3.11 or newer, and this is Python {version[0]}.{version[1]}. ")
    assert run.too_old((3, 11)) == run.too_old((4, 0)) == ""


def test_an_older_python_can_read_the_file() -> None:
    source = Path(run.__file__).read_text(encoding="utf-8")
    ast.parse(source, feature_version=(3, 7))

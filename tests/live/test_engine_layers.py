"""The engine loads nothing from elsewhere, has the files of `model/`, and stays small."""

import re
import subprocess
from pathlib import Path

from tests.conftest import ROOT
from tests.javascript.check import program
from viz_app.components.bundle import modules
from viz_app.export.live_page import script_of

ENGINE = ROOT / "live" / "engine"
FILES = sorted(ENGINE.rglob("*.js"))
IMPORT = re.compile(r'^import .*? from "(.+?)";$', re.M)
MOST_BYTES = 100_000  # of all files as one minified script
# Folders from the lower to the upper ones. A file imports only from its own folder and from those before it.
FOLDERS = ("config", "network", "text", "tokenizers", "foreign", "decoding", "inference", "analysis", "atlas")
# Like `model/`, the engine has files at its root that every folder reads, and files that read every folder.
LOWEST = ("errors", "json", "tensor", "kernel", "matrix", "remote", "safetensors", "trace", "changes", "interventions")
HIGHEST = ("checkpoint", "opening", "engine", "worker")
LIBRARY = "tokenizers"  # the folder that reads what the library of this name reads in Python


def layer(path: Path) -> tuple[int, str]:
    folder = path.parent.name
    if path.parent != ENGINE:
        return 1 + FOLDERS.index(folder), folder
    return (0 if path.stem in LOWEST else 9), folder


def test_files_import_only_files_of_lower_folders() -> None:
    for path in FILES:
        assert path.parent != ENGINE or path.stem in LOWEST + HIGHEST, f"{path.name} has no place in this test yet"
        text = path.read_text(encoding="utf-8")
        assert len(re.findall(r"\bimport\b(?!\()", text)) == len(IMPORT.findall(text)), path
        for name in IMPORT.findall(text):
            imported = (path.parent / name).resolve()
            assert imported in FILES, f"{path.name} imports {name}"
            assert layer(imported)[0] <= layer(path)[0], f"{path.name} imports {name}"


def test_no_code_is_made_from_text_and_no_other_host_is_named() -> None:
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\beval\(|\bnew Function\b|\bimportScripts\b|https?:|innerHTML", text), path


def test_each_folder_and_file_has_its_counterpart_in_python() -> None:
    for path in FILES:
        if path.parent != ENGINE and path.parent.name != LIBRARY:
            assert (ROOT / "model" / path.parent.name / f"{path.stem}.py").is_file(), path


def in_order(path: Path, done: list[Path]) -> list[Path]:
    """The files that a file imports, then itself, after those that are done."""
    for name in IMPORT.findall(path.read_text(encoding="utf-8")):
        done = in_order((path.parent / name).resolve(), done)
    return done if path in done else [*done, path]


def test_all_files_can_be_joined_into_one_script() -> None:
    """A page that is opened as a file cannot load modules. So no name may appear in two files."""
    texts = [path.read_text(encoding="utf-8") for path in in_order(ENGINE / "engine.js", [])]
    script = "".join(re.sub(r"^export ", "", IMPORT.sub("", text), flags=re.M) for text in texts)
    code = f"{script}\nconsole.log(startEngine().constructor.name);"
    found = subprocess.run([program("node")], input=code, capture_output=True, encoding="utf-8", check=False)
    assert (found.stdout, found.stderr) == ("LocalEngine\n", "")


def test_the_code_is_small() -> None:
    assert len(script_of(modules("engine/worker.js")).encode()) < MOST_BYTES

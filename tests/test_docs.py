"""The pages of docs/: their code runs, the notebook shows its results, and every link has a target."""

import ast
import contextlib
import inspect
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

import headlight
from tests.conftest import ROOT
from tests.viz_app.conftest import array
from tools.architecture import PICTURE, drawing, room_imports

DOCS = ROOT / "docs"
NUMBER = r"-?\d+\.\d+"


def run_cell(code: str, space: dict[str, Any]) -> tuple[str, object]:
    """What a notebook would print for a cell, and the value of its last line."""
    tree = ast.parse(code)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile(tree, "cell", "exec"), space)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), space) if last else None
    return printed.getvalue(), value


def assert_same_text(found: str, stored: str) -> None:
    """The same words, and decimals that differ by no more than their last digit: another machine sums otherwise."""
    assert re.sub(NUMBER, "#", found) == re.sub(NUMBER, "#", stored)
    for ours, theirs in zip(re.findall(NUMBER, found), re.findall(NUMBER, stored), strict=True):
        assert float(ours) == pytest.approx(float(theirs), abs=1.01 * 10 ** -len(theirs.partition(".")[2]))


def test_the_notebook_shows_what_its_code_does_today() -> None:
    text = (DOCS / "notebook.ipynb").read_text(encoding="utf-8")
    assert len(text) < 1_000_000
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    space: dict[str, Any] = {}
    shown = []
    for cell in cells:
        printed, value = run_cell("".join(cell["source"]), space)
        outputs = cell["outputs"]
        assert_same_text(printed, "".join("".join(output.get("text", "")) for output in outputs))
        data = {kind: content for output in outputs for kind, content in output.get("data", {}).items()}
        assert bool(data) == (value is not None)
        if "text/plain" in data:
            assert_same_text(repr(value), "".join(data["text/plain"]))
        if figure := data.get("application/vnd.plotly.v1+json"):
            drawn = value.to_plotly_json()  # type: ignore[attr-defined]
            np.testing.assert_allclose(array(drawn["data"][0]["z"]), array(figure["data"][0]["z"]), atol=1e-4)
        if "text/html" in data:
            assert value._repr_html_().startswith("<iframe")  # type: ignore[attr-defined]
        shown += data
    assert {"text/html", "application/vnd.plotly.v1+json", "image/png"} <= set(shown)


@pytest.mark.parametrize("page", [DOCS / "api.md", ROOT / "README.md"], ids=lambda page: page.name)
def test_the_python_on_a_page_runs(page: Path) -> None:
    space: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.S)
    assert blocks
    for block in blocks:
        run_cell(block, space)


def test_the_signatures_on_the_page_are_those_of_the_code() -> None:
    text = (DOCS / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"`(\w+)\((.*?)\)(?: -> .*?)?`", text)
    functions = [(getattr(headlight, name), names) for name, names in listed if hasattr(headlight, name)]
    assert len(functions) > 8
    for function, names in functions:
        arguments = re.findall(r"(?:^|, )(\w+)", re.sub(r'"[^"]*"|\[.*?\]', "", names))
        assert set(arguments) <= set(inspect.signature(function).parameters), f"{function.__name__}({names})"
    for thing, names in (
        (headlight.ShownTranslation, "a `ShownTranslation`"),
        (headlight.OpenCheckpoint, "an `OpenCheckpoint`"),
    ):
        table = text.partition(f"| of {names} |")[2].partition("\n\n")[0]
        for name in re.findall(r"^\| ((?:`\w+.*?`(?:, )?)+) \|", table, flags=re.M):
            for attribute in re.findall(r"`(\w+)", name):
                assert hasattr(thing, attribute) or attribute in inspect.signature(thing).parameters, attribute


@pytest.mark.parametrize("page", [*DOCS.glob("*.md"), *ROOT.glob("*.md")], ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / link).exists(), link


def test_the_picture_of_the_rooms_shows_the_imports_of_the_code() -> None:
    assert PICTURE.read_text(encoding="utf-8") == drawing(), "run: python -m tools.architecture"


def test_the_page_on_architecture_describes_every_room_and_names_files_that_exist() -> None:
    text = (DOCS / "architecture.md").read_text(encoding="utf-8")
    for room in room_imports().nodes:
        assert re.search(rf"`{room.partition('.')[2] or room}[`/.]", text), room
    for path in re.findall(r"`((?:model|viz_app|tests)/[\w/.]+)`", text):
        assert (ROOT / path).exists(), path


def test_the_recipes_name_files_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    paths = re.findall(r"\b(?:model|viz_app|docs|tests|tools|benchmarks|weights)/[\w./-]*", text)
    assert len(paths) > 20
    for path in paths:
        if not re.search("[A-Z]{4}", path):  # NAME stands for the name of a new file
            assert (ROOT / path.rstrip(".")).exists(), path


def test_the_picture_of_the_readmes_moves_and_is_small() -> None:
    path = DOCS / "headlight.webp"
    with Image.open(path) as picture:
        assert getattr(picture, "n_frames", 1) > 20, "run: python -m tools.moving_picture"
    assert path.stat().st_size < 3e6
    for readme in ROOT.glob("README*.md"):
        assert f"(docs/{path.name})" in readme.read_text(encoding="utf-8")

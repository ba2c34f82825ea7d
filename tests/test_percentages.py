"""A percentage has a no-break space before its sign everywhere: "93\u00a0%"."""

import ast
import re
from collections.abc import Iterator

from tests.conftest import ROOT
from viz_app.content.numbers import percent

SOURCES = [
    *(path for room in ("model", "viz_app", "headlight") for path in sorted((ROOT / room).rglob("*.py"))),
    ROOT / "streamlit_app.py",
]
SCRIPTS = sorted((ROOT / "live").rglob("*.js"))
SPACE = re.compile(r"[\d}] %(?![\w({])")  # a number or a value, an ordinary space, the sign
FORMAT = re.compile(r"\.?\d*%|percent")  # formats of Python and of Streamlit, which write other spaces or none


def texts(tree: ast.AST) -> Iterator[str]:
    """The texts of a program without its docstrings, with "{}" for values."""
    skipped = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped |= set(node.values)
            yield "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped:
            yield node.value


def formats(tree: ast.AST) -> Iterator[str]:
    """How a program formats its values: in f-strings, and in the columns of tables."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FormattedValue) and node.format_spec:
            yield ast.unparse(node.format_spec)[2:-1]
        elif isinstance(node, ast.keyword) and node.arg == "format" and isinstance(node.value, ast.Constant):
            yield str(node.value.value)


def test_texts_have_a_no_break_space() -> None:
    found = []
    for path in SOURCES:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        wrong = [text for text in texts(tree) if SPACE.search(text)]
        wrong += [format_ for format_ in formats(tree) if FORMAT.fullmatch(format_)]
        found += [f"{path.relative_to(ROOT)}: {one}" for one in wrong]
    assert len(SOURCES) > 300
    assert found == []


def test_scripts_have_a_no_break_space() -> None:
    found = []
    for path in SCRIPTS:
        lines = path.read_text(encoding="utf-8").splitlines()
        code = [line for line in lines if not line.lstrip().startswith(("*", "/"))]
        found += [f"{path.name}: {line}" for line in code if re.search(r"[\d}] %[\"`]", line)]
    assert SCRIPTS
    assert found == []


def test_a_percentage_has_the_digits_that_mean_something() -> None:
    written = {0.9289: "92.9\u00a0%", 0.00334: "0.33\u00a0%", 0.9999: "100\u00a0%", 0.0: "0.00\u00a0%"}
    assert {share: percent(share) for share in written} == written
    assert percent(0.6, digits=0) == "60\u00a0%"

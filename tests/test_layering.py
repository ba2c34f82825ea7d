"""Data flows one way; the imports of the code prove it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = [*ROOT.glob("model/**/*.py"), *ROOT.glob("viz_app/**/*.py"), ROOT / "streamlit_app.py"]

# Downward only: a room imports from its own and from those before it.
ROOMS = (
    *("kinds", "config", "recipe", "trace", "network", "text", "corpora", "decoding", "checkpoint", "interventions"),
    *("inference", "analysis", "training", "__main__"),
)
# Folder or file → what it must not import.
FORBIDDEN = {
    "model/": ("streamlit", "plotly", "viz_app", "bertviz"),
    "viz_app/figures/": ("torch", "streamlit", "model", "viz_app.services", "viz_app.pages", "viz_app.controls"),
    "viz_app/pages/": ("torch", "plotly"),
    "viz_app/sections/": ("torch", "plotly", "viz_app.pages"),
    "viz_app/services.py": ("plotly", "viz_app.pages", "viz_app.sections", "viz_app.figures", "viz_app.controls"),
}


def imports(path: Path) -> Iterator[str]:
    """Full names of what a file imports, relative imports included."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else ()
            yield from (".".join(filter(None, (*above, node.module, alias.name))) for alias in node.names)


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_room_imports_what_it_must_not_know(path: Path) -> None:
    place = path.relative_to(ROOT).as_posix()
    for room, forbidden in FORBIDDEN.items():
        if place.startswith(room):
            wrong = [name for name in imports(path) for other in forbidden if within(name, other)]
            assert wrong == [], f"{place} must not import {wrong}"


def room(name: str) -> str:
    return name.split(".")[1]


@pytest.mark.parametrize("path", sorted(ROOT.glob("model/**/*.py")), ids=lambda p: str(p.relative_to(ROOT)))
def test_the_rooms_of_the_model_import_downward_alone(path: Path) -> None:
    if path == ROOT / "model" / "__init__.py":
        return
    own = room(".".join(path.relative_to(ROOT).with_suffix("").parts))
    assert own in ROOMS, f"{path.name} has no place in this test yet"
    for name in imports(path):
        if within(name, "model"):
            below = ROOMS[: ROOMS.index(own) + 1]
            assert room(f"{name}.") in below, f"{path.name} imports {name}, which is no room below its own"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_caches_live_in_the_services_alone(path: Path) -> None:
    if path.name == "services.py":
        return
    tree = ast.parse(path.read_text(encoding="utf-8"))
    cached = [
        n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and n.attr in ("cache_data", "cache_resource")
    ]
    assert cached == []


def test_every_cache_is_bounded() -> None:
    tree = ast.parse((ROOT / "viz_app" / "services.py").read_text(encoding="utf-8"))
    decorators = [d for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) for d in n.decorator_list]
    assert decorators
    for decorator in decorators:
        if "st.cache" in ast.unparse(decorator):
            assert isinstance(decorator, ast.Call)
            assert any(keyword.arg == "max_entries" for keyword in decorator.keywords), ast.unparse(decorator)

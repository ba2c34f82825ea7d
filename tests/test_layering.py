"""Data flows one way; the imports of the code prove it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = [*ROOT.glob("model/**/*.py"), *ROOT.glob("viz_app/**/*.py"), ROOT / "streamlit_app.py"]

# Folder or file → what it must not import.
FORBIDDEN = {
    "model/": ("streamlit", "plotly", "viz_app", "bertviz"),
    "model/data/": (
        "model.transformer",
        "model.decode",
        "model.beam",
        "model.checkpoint",
        "model.train",
        "model.translate",
    ),
    "viz_app/figures/": ("torch", "streamlit", "model", "viz_app.services", "viz_app.pages", "viz_app.controls"),
    "viz_app/pages/": ("torch", "plotly"),
    "viz_app/sections/": ("torch", "plotly", "viz_app.pages"),
    "viz_app/services.py": ("plotly", "viz_app.pages", "viz_app.sections", "viz_app.figures", "viz_app.controls"),
}
# Within model/, from the bottom up: a file imports only from floors below its own.
FLOORS = (
    {"config", "trace", "cache", "masks", "dropout", "loss", "analysis", "position_analysis"},
    {"cpu_attention", "interventions"},
    {"attention", "positional"},
    {"layers"},
    {"transformer"},
    {"classifier", "decode"},
    {"beam"},
    {"checkpoint"},
    {"classify", "translate"},
    {"anatomy", "distill", "evaluate", "export", "importance", "mask_bugs", "padded_batch", "run_state", "search_tree"},
    {"runtime", "tasks"},
    {"train"},
    {"__main__"},
)


def imports(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def within(name: str, package: str) -> bool:
    return name == package or name.startswith(package + ".")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_room_imports_what_it_must_not_know(path: Path) -> None:
    place = path.relative_to(ROOT).as_posix()
    for room, forbidden in FORBIDDEN.items():
        if place.startswith(room):
            wrong = [name for name in imports(path) for other in forbidden if within(name, other)]
            assert wrong == [], f"{place} must not import {wrong}"


@pytest.mark.parametrize("path", sorted(ROOT.glob("model/*.py")), ids=lambda p: p.name)
def test_the_model_is_built_from_the_bottom_up(path: Path) -> None:
    if path.stem == "__init__":
        return
    floors = {name: floor for floor, names in enumerate(FLOORS) for name in names}
    assert path.stem in floors, f"{path.name} has no floor in this test yet"
    for name in imports(path):
        parts = name.split(".")
        if parts[0] == "model" and parts[1] != "data":
            assert floors[parts[1]] < floors[path.stem], f"{path.name} imports {name} from its own floor or above"


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

"""Data flows one way; the imports of the code prove it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FILES = [*ROOT.glob("model/**/*.py"), *ROOT.glob("viz_app/**/*.py"), ROOT / "streamlit_app.py"]

# Downward only: a room imports from its own and from those before it.
ROOMS = (
    *(
        "places",
        "kinds",
        "section",
        "config",
        "recipe",
        "files",
        "safety",
        "device",
        "trace",
        "network",
        "text",
        "corpora",
        "decoding",
        "foreign_config",
        "checkpoint",
        "languages",
        "layouts",
        "state_dict",
        "foreign",
    ),
    *(
        "interventions",
        "inference",
        "opening",
        "analysis",
        "training",
        "arguments",
        "asked",
        "evaluate_command",
        "notebook",
        "__main__",
    ),
)
# The one file of the model that hands over to the pictures, when a notebook asks for one.
DOOR = ("model/notebook.py", "model/")
SCREEN = ("plotly", "viz_app.pages", "viz_app.sections", "viz_app.figures", "viz_app.controls")
# Folder or file → what it must not import.
FORBIDDEN = {
    "model/": ("streamlit", "plotly", "viz_app", "bertviz"),
    "viz_app/figures/": ("torch", "streamlit", "model", "viz_app.services", "viz_app.pages", "viz_app.controls"),
    "viz_app/pages/": ("torch", "plotly"),
    "viz_app/sections/": ("torch", "plotly", "viz_app.pages"),
    "viz_app/cache.py": ("torch", "streamlit", "plotly", "model"),
    "viz_app/gate.py": ("torch", "streamlit", "plotly", "model"),
    "viz_app/jobs.py": ("torch", "streamlit", "plotly", "model"),
    "viz_app/machine.py": ("torch", "streamlit", "plotly", "model"),
    "viz_app/presence.py": ("torch", "plotly", "model"),
    "viz_app/shared.py": ("torch", "plotly", "model"),
    **dict.fromkeys(
        ("viz_app/report.py", "viz_app/component_data.py", "viz_app/attention_view.py"), ("streamlit", "torch")
    ),
    **dict.fromkeys(
        (
            "viz_app/listing.py",
            "viz_app/loading.py",
            "viz_app/measuring.py",
            "viz_app/services.py",
            "viz_app/analyses.py",
        ),
        SCREEN,
    ),
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
        if place.startswith(room) and (place, room) != DOOR:
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
def test_results_and_models_are_kept_in_one_place_each_and_bounded_in_bytes(path: Path) -> None:
    """Streamlit's own caches count entries, of which one may be as large as all memory."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute)}
    assert not names & {"cache_data", "cache_resource"}
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and ast.unparse(n.func) == "Cache"]
    assert not calls or path.name in ("loading.py", "shared.py")
    for call in calls:
        assert any(keyword.arg == "capacity" for keyword in call.keywords), ast.unparse(call)

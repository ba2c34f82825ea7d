"""Draw `architecture.svg`: the rooms of the code and their imports, read from the code itself.

python -m tools.architecture
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

import networkx as nx

__all__ = ["IMPORTS", "PACKAGES", "PICTURE", "TREES", "drawing", "room", "room_imports"]

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("model", "viz_app", "headlight", "weights")
FILES = [*(path for package in PACKAGES for path in sorted((ROOT / package).rglob("*.py"))), ROOT / "streamlit_app.py"]
PICTURE = ROOT / "docs" / "architecture.svg"
PASSAGES = ("model", "viz_app", "model.__main__")  # they only pass names on

BOX, FLOOR, MARGIN = (160, 34), 66, 24  # pixels: width and height of a box, distance of two floors, edge of the picture
COLOURS = {"model": "#0072b2", "viz_app": "#d55e00"}
STYLE = """
  text { font: 14px system-ui, sans-serif; fill: #1f2328; text-anchor: middle; dominant-baseline: central }
  rect { fill: #fff; stroke-width: 2; rx: 6px } path { fill: none; stroke: #6e7781; stroke-width: 1.2 }
"""


def module(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


TREES = {module(path): ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
FOLDERS = {module(path): path.relative_to(ROOT).parent.parts for path in FILES}


def imports(name: str) -> Iterator[str]:
    """Full names of everything that a module imports, relative imports included."""
    package = FOLDERS[name]
    for node in ast.walk(TREES[name]):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) + 1 - node.level] if node.level else ()
            yield from (".".join(filter(None, (*above, node.module, alias.name))) for alias in node.names)


IMPORTS = {name: tuple(imports(name)) for name in TREES}


def room(name: str) -> str:
    """The room of a module or of a name in a module, such as `model.network` for `model.network.masks`."""
    first, *others = name.split(".")
    if first in ("model", "viz_app") and others:
        place = ROOT / first / others[0]
        if place.is_dir() or place.with_suffix(".py").is_file():
            return f"{first}.{others[0]}"
    return first  # the package itself defines the name


def room_imports() -> "nx.DiGraph[str]":
    """Which room imports which, without the arrows that follow from others."""
    graph: nx.DiGraph[str] = nx.DiGraph()
    for name, imported in IMPORTS.items():
        others = {room(other) for other in imported if other.split(".")[0] in (*PACKAGES, "streamlit_app")}
        graph.add_edges_from((room(name), other) for other in others if other != room(name))
    graph.remove_nodes_from(PASSAGES)
    return nx.transitive_reduction(graph)


def drawing() -> str:
    """The SVG: each room stands above all rooms that it imports."""
    graph = room_imports()
    floors = [sorted(floor) for floor in nx.topological_generations(graph)]
    places = {name: place for level, floor in enumerate(floors) for name, place in row(floor, level)}
    width = max(x for x, _ in places.values()) + BOX[0] // 2 + MARGIN
    height = len(floors) * FLOOR + 2 * MARGIN - (FLOOR - BOX[1])
    arrows = [arrow(places[above], places[below]) for above, below in sorted(graph.edges)]
    boxes = [box(name, *places[name]) for name in sorted(places)]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">',
            "<title>The rooms of Headlight. Each room imports only rooms below it.</title>",
            f"<style>{STYLE}</style>",
            f'<rect width="{width}" height="{height}" stroke="none"/>',
            *arrows,
            *boxes,
            "</svg>\n",
        ]
    )


def row(floor: list[str], level: int) -> Iterator[tuple[str, tuple[int, int]]]:
    """The rooms of one floor with the centres of their boxes: `model` on the left, `viz_app` on the right."""
    y = MARGIN + level * FLOOR + BOX[1] // 2
    for side, columns in (("model", (0, 1, 2, 3)), ("viz_app", (4, 3, 5)), ("", (2, 1))):
        names = [name for name in floor if side_of(name) == side]
        for name, column in zip(names, columns[: len(names)], strict=True):
            yield name, (MARGIN + BOX[0] // 2 + column * (BOX[0] + MARGIN), y)


def side_of(name: str) -> str:
    package = "viz_app" if name == "streamlit_app" else name.partition(".")[0]
    return package if package in COLOURS else ""


def box(name: str, x: int, y: int) -> str:
    width, height = BOX
    colour = COLOURS.get(side_of(name), "#6e7781")
    return (
        f'<rect x="{x - width // 2}" y="{y - height // 2}" width="{width}" height="{height}" stroke="{colour}"/>'
        f'<text x="{x}" y="{y}">{escape(name)}</text>'
    )


def arrow(above: tuple[int, int], below: tuple[int, int]) -> str:
    (x, y), (to_x, to_y) = above, below
    y, to_y = y + BOX[1] // 2, to_y - BOX[1] // 2
    bend = min(FLOOR, (to_y - y) // 2)
    return f'<path d="M{x} {y} C{x} {y + bend} {to_x} {to_y - bend} {to_x} {to_y}"/>'


if __name__ == "__main__":
    PICTURE.write_text(drawing(), encoding="utf-8")

"""A circuit as a graph, whose edges are buttons."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from viz_app.components.mounting import component
from viz_app.figures.circuit import Node, circuit_drawing

__all__ = ["DrawnEdge", "circuit_graph"]


@dataclass(frozen=True, kw_only=True)
class DrawnEdge:
    """An edge of the graph."""

    code: str  # what a click reports
    sender: int  # a number of a node
    receiver: int
    size: float  # with a sign
    patched: bool
    note: str  # its names and numbers, for the hover and for a reader who cannot see it


def circuit_graph(
    nodes: Sequence[Node],
    edges: Sequence[DrawnEdge],
    *,
    chosen: str,
    alt: str,
    key: str,
    on_edge: Callable[[str], None],
) -> None:
    """Draw a circuit from the inputs (below) to the logits (above).

    Args:
        nodes: The nodes of the edges.
        edges: The strongest last, because later ones lie above.
        chosen: The code of the edge that is marked.
        alt: Text for a reader who cannot see the picture.
        key: Of the component.
        on_edge: Called with the code of the edge that was clicked.
    """
    drawing = circuit_drawing(nodes, [(edge.sender, edge.receiver) for edge in edges])
    boxes = [
        {"x": x, "y": y, "width": width, "label": node.label, "name": node.name}
        for node, (x, y), width in zip(nodes, drawing.places, drawing.widths, strict=True)
    ]
    data = {
        "width": drawing.width,
        "height": drawing.height,
        "nodes": boxes,
        "rows": [asdict(row) for row in drawing.rows],
        "edges": [asdict(edge) | {"crosses": nodes[edge.sender].stack != nodes[edge.receiver].stack} for edge in edges],
        "largest": max((abs(edge.size) for edge in edges), default=0.0) or 1.0,
        "chosen": chosen,
        "alt": alt,
    }
    component("circuit", "ui/circuit", key=key, edge=lambda code: on_edge(str(code)), data=data)

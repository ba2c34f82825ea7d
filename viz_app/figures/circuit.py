"""The places of the nodes of a circuit: rows from the inputs to the logits, the encoder on the left."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

__all__ = ["CircuitDrawing", "Node", "circuit_drawing"]

STEP, ROW, MARGIN = 38, 46, 28  # pixels: between two nodes of a row, between two rows, at the edge of the picture
WIDE = 84  # pixels of a node with a word
BETWEEN, TITLES = 70, 76  # pixels: between both stacks, for the titles of the rows of a stack
SWEEPS = 8  # of the barycentre method


@dataclass(frozen=True, kw_only=True)
class Node:
    """A part of a model."""

    name: str  # for the hover
    label: str  # in the node
    title: str  # of its row
    stack: str  # "encoder" or "decoder"
    row: tuple[int, int]  # its place in the order of the pass: a layer, and a block in it
    number: int = 0  # its place in the row where nothing else decides


@dataclass(frozen=True, kw_only=True)
class CircuitDrawing:
    """Where everything is, in pixels; y grows downwards, and the model runs upwards."""

    width: float
    height: float
    places: tuple[tuple[float, float], ...]  # the middle of each node
    widths: tuple[float, ...]  # of the nodes
    rows: tuple[Mapping[str, object], ...]  # the "title" of each, which begins or has its "end" at "x"


def circuit_drawing(nodes: Sequence[Node], edges: Sequence[tuple[int, int]]) -> CircuitDrawing:
    """Lay out a circuit. The model decides the row of a node, and few crossings its place in the row.

    The order in a row is that of the barycentre method (Sugiyama et al. 1981, "Methods for Visual Understanding of
    Hierarchical System Structures"): each node moves to the mean place of its neighbours, row after row, up and down.

    Args:
        nodes: All nodes.
        edges: The sender and the receiver of each edge, as numbers of nodes.
    """
    neighbours: dict[int, list[int]] = {number: [] for number in range(len(nodes))}
    for sender, receiver in edges:
        neighbours[sender].append(receiver)
        neighbours[receiver].append(sender)
    stacks = [name for name in ("encoder", "decoder") if any(node.stack == name for node in nodes)]
    rows = {name: rows_of(nodes, name) for name in stacks}
    widths = [STEP - 8 if node.label.isdigit() else WIDE for node in nodes]
    sizes = {name: max(max(len(row) * STEP, WIDE) for row in rows[name]) for name in stacks}
    middles, left = dict[str, float](), float(TITLES)
    for name in stacks:
        middles[name] = left + sizes[name] / 2
        left += sizes[name] + BETWEEN
    x = {number: middles[node.stack] + node.number for number, node in enumerate(nodes)}
    for sweep in range(SWEEPS + 1):
        for name in stacks:
            for row in rows[name][:: -1 if sweep % 2 else 1]:
                order = sorted(row, key=lambda number: wanted(number, x, neighbours) if sweep else nodes[number].number)
                for i, number in enumerate(order):
                    x[number] = middles[name] + (i - (len(order) - 1) / 2) * STEP
    levels = sorted({node.row for node in nodes})  # the same in both stacks
    height = 2 * MARGIN + (len(levels) - 1) * ROW
    y = [height - MARGIN - levels.index(node.row) * ROW for node in nodes]
    width = left - BETWEEN + (TITLES if len(stacks) > 1 else MARGIN)
    return CircuitDrawing(
        width=width,
        height=height,
        places=tuple((x[number], y[number]) for number in range(len(nodes))),
        widths=tuple(widths),
        rows=tuple(
            {"title": nodes[row[0]].title, "x": width if i else 0, "y": y[row[0]], "end": bool(i)}
            for i, name in enumerate(stacks)
            for row in rows[name]
        ),
    )


def rows_of(nodes: Sequence[Node], stack: str) -> list[list[int]]:
    """The numbers of the nodes of a stack, row by row from the inputs."""
    found = sorted((number for number, node in enumerate(nodes) if node.stack == stack), key=lambda i: nodes[i].row)
    return [list(row) for _, row in groupby(found, key=lambda number: nodes[number].row)]


def wanted(number: int, x: Mapping[int, float], neighbours: Mapping[int, Sequence[int]]) -> float:
    """The mean place of the neighbours of a node."""
    return sum(x[other] for other in neighbours[number]) / len(neighbours[number])

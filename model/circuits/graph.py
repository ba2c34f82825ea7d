"""A model as a graph: what each part adds to the residual stream, and which later parts read it.

A *node* is an input (the embeddings of the encoder or of the decoder), one attention head, one feed-forward network, or
the logits. An *edge* leads from a node that adds to a stream to a node that reads it later (Elhage et al. 2021,
"A Mathematical Framework for Transformer Circuits"). A head reads on three *sides*: for its queries, its keys and its
values. The keys and values of cross-attention read the stream of the encoder.
"""

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.availability import require_attention_steps
from model.analysis.streams import stacks_of
from model.config.section import ConfigError
from model.interventions import Head
from model.network.protocols import Reads
from model.network.residual_stream import Stack

__all__ = ["SIDES", "Edge", "Graph", "Node", "Site", "graph_of", "grown", "stacks_in_order", "without_each"]

SIDES = ("query", "key", "value")


@dataclass(frozen=True, order=True)
class Node:
    """A part of a model; layer and head are counted from 0."""

    part: str  # "encoder", "decoder" or "cross" (a head of this kind), "feed_forward", "input" or "logits"
    stack: str  # whose stream it adds to, "encoder" or "decoder"
    layer: int = -1  # −1 for an input and for the logits
    head: int = -1  # −1 for everything but a head

    @property
    def as_head(self) -> Head | None:
        """The head; None for another part."""
        return None if self.head < 0 else Head(self.part, self.layer, self.head)

    @property
    def code(self) -> str:
        """Its name in a file or a link, such as `cross.2.5` or `encoder.feed_forward.1`. Numbers count from 1."""
        if head := self.as_head:
            return head.code
        if self.part == "feed_forward":
            return f"{self.stack}.feed_forward.{self.layer + 1}"
        return f"{self.stack}.{self.part}"


@dataclass(frozen=True, order=True)
class Edge:
    """What a node adds to a stream, as another node reads it."""

    sender: Node
    receiver: Node
    side: str = ""  # one of `SIDES` for a head

    @property
    def code(self) -> str:
        """Its name in a file or a link, such as `decoder.1.2>decoder.2.4.key`."""
        return f"{self.sender.code}>{self.receiver.code}" + (f".{self.side}" if self.side else "")


@dataclass(frozen=True, kw_only=True)
class Site:
    """Receivers that read the same stream at the same place: R of them read what U senders added."""

    stack: str
    senders: tuple[Node, ...]  # U
    receivers: tuple[tuple[Node, str], ...]  # R: a node and its side

    @property
    def size(self) -> int:
        """How many edges end here."""
        return len(self.senders) * len(self.receivers)


@dataclass(frozen=True, kw_only=True)
class Graph:
    """All edges of a model. Their numbers run through the sites, in each sender by sender."""

    sites: tuple[Site, ...]  # in the order of the pass

    @cached_property
    def edges(self) -> tuple[Edge, ...]:
        """All edges, in the order of their numbers."""
        return tuple(
            Edge(sender, node, side) for site in self.sites for sender in site.senders for node, side in site.receivers
        )

    def by_site(self, values: Tensor) -> list[Tensor]:
        """Divide one value for each edge (…, E) into a grid for each site, (…, U, R)."""
        grids = values.split([site.size for site in self.sites], dim=-1)
        return [
            grid.unflatten(-1, (len(site.senders), len(site.receivers)))
            for grid, site in zip(grids, self.sites, strict=True)
        ]


def graph_of(model: Reads) -> Graph:
    """The graph of a model.

    Raises:
        ConfigError: the blocks of the model are not known, it is read-only, or it predicts nothing.
    """
    require_attention_steps(model)
    sites: list[Site] = []
    heads, memory = model.config.num_heads, tuple[Node, ...]()
    for stack in stacks_in_order(model):
        senders: tuple[Node, ...] = (Node("input", stack.name),)
        read, previous = senders, ""
        for block in stack.blocks:
            # Parallel blocks read the same stream.
            read, previous = read if block.reads == previous else senders, block.reads
            if block.kind is None:
                node = Node("feed_forward", stack.name, block.layer)
                sites.append(Site(stack=stack.name, senders=read, receivers=((node, ""),)))
                senders = (*senders, node)
                continue
            own = tuple(Node(block.kind, stack.name, block.layer, head) for head in range(heads))
            sides = SIDES[:1] if block.kind == "cross" else SIDES
            sites.append(Site(stack=stack.name, senders=read, receivers=receivers(own, sides)))
            if block.kind == "cross":
                sites.append(Site(stack="encoder", senders=memory, receivers=receivers(own, SIDES[1:])))
            senders = (*senders, *own)
        memory = senders
    if not stack.readout:
        raise ConfigError("This model predicts nothing, so there is no path to an outcome. Choose a model that does.")
    sites.append(Site(stack=stack.name, senders=senders, receivers=((Node("logits", stack.name), ""),)))
    return Graph(sites=tuple(sites))


def stacks_in_order(model: Reads) -> tuple[Stack, ...]:
    """The stacks in the order of the pass: the decoder reads the encoder.

    Raises:
        ConfigError: the blocks of the model are not known.
    """
    return tuple(sorted(stacks_of(model), key=lambda stack: stack.name == "decoder"))


def receivers(heads: tuple[Node, ...], sides: tuple[str, ...]) -> tuple[tuple[Node, str], ...]:
    return tuple((head, side) for side in sides for head in heads)


def grown(graph: Graph, scores: NDArray[np.float32]) -> NDArray[np.int64]:
    """The edges in the order in which a circuit grows from the logits, (E,).

    The next edge is the one with the largest |score| among those that end in a node of the circuit (Hanna et al. 2024,
    section 4.2, "greedy"). So each circuit of the first N edges is connected with the logits.

    Args:
        graph: The graph of the model.
        scores: One for each edge, (E,).
    """
    ends: dict[Node, list[int]] = {}
    for number, edge in enumerate(graph.edges):
        ends.setdefault(edge.receiver, []).append(number)
    strength = np.abs(scores)

    def reach(node: Node) -> Iterator[tuple[float, int]]:
        return ((-float(strength[number]), number) for number in ends.pop(node, ()))

    open_edges, order = list(reach(graph.sites[-1].receivers[0][0])), []
    heapq.heapify(open_edges)
    while open_edges:
        _, number = heapq.heappop(open_edges)
        order.append(number)
        for reached in reach(graph.edges[number].sender):
            heapq.heappush(open_edges, reached)
    return np.array(order)


def without_each(removed: Sequence[int] | NDArray[np.int64], edges: int) -> NDArray[np.bool_]:
    """For each of N edges, all edges but this one, (N, E)."""
    kept = np.ones((len(removed), edges), bool)
    kept[np.arange(len(removed)), removed] = False
    return kept

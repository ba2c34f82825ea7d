"""The grade of the edges of circuits.

A text and its donor have the same length. What both carry alike, such as positions, no patch can see. So edges of the
truth that carry the same in both are left out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cache

import numpy as np

from model.analysis.patching import contrast
from model.circuits.attribution import attribute
from model.circuits.backup import strongest_heads
from model.circuits.finding import SIZES
from model.circuits.graph import Node, graph_of, grown
from model.circuits.wired import Wired
from model.config.kinds import KINDS
from tools.planted.parts import Plan, word
from tools.planted.subject import Array, Subject, auroc
from tools.planted.truth import Feature, features, name_of, parts_of

__all__ = ["circuit_edges", "edge_scores"]

Couple = tuple[Feature, Feature]  # the words of a text and of its donor in one place
Name = tuple[str, str, str]  # sender, receiver and side, as in a truth, with "input" for tokens and positions


@cache
def edge_scores(subject: Subject) -> tuple[list[Name], Array]:
    """All edges, and the mean of their |scores| over the pairs: the largest of the whole model and without a head."""
    graph = graph_of(subject.checkpoint.model)
    found = [contrast(subject.checkpoint, donor.result, run.result) for donor, run in subject.both_ways]
    pairs = [Wired(subject.checkpoint.model, graph, one) for one in found if one]
    scores = sizes_of(pairs)
    heads = strongest_heads(graph, scores, grown(graph, scores)[: max(SIZES)])
    scores = np.max([scores, *(sizes_of([pair.without(head) for pair in pairs]) for head in heads)], axis=0)
    return [(name_of_node(edge.sender), name_of_node(edge.receiver), edge.side) for edge in graph.edges], scores


def sizes_of(pairs: Sequence[Wired]) -> Array:
    return np.mean([np.abs(attribute(pair)) for pair in pairs], axis=0)


def name_of_node(node: Node) -> str:
    if node.as_head:
        return name_of(node.as_head)
    if node.part == "feed_forward":
        return f"{node.stack}.{node.layer}.feed_forward"
    return "output" if node.part == "logits" else f"{node.stack}.input"


def circuit_edges(subject: Subject) -> float:
    """The AUROC of the edges of the truth that differ between a text and its donor."""
    names, scores = edge_scores(subject)
    differing, every = edges_of_truth(subject)
    kept = np.array([name in differing or name not in every for name in names])
    matter = np.array([name in differing for name in names])
    return auroc(scores[kept], matter[kept])


def edges_of_truth(subject: Subject) -> tuple[set[Name], set[Name]]:
    """The edges that differ between a text and its donor, and all edges."""
    writes = {part.name: part.writes for part in parts_of(subject.plan)}
    couples, rows = words_that_differ(subject), list(readers(subject.plan))
    varying = features_that_differ(couples, rows)
    differing, every = set[Name](), set[Name]()
    for edge in subject.truth.edges:
        stack, _, what = edge.sender.partition(".")
        name = (f"{stack}.input" if what in ("tokens", "positions") else edge.sender, edge.receiver, edge.side)
        every.add(name)
        sent = writes[edge.sender]
        own = [row for row in rows if (row.name, row.side) == (edge.receiver, edge.side)]
        if any(row.tells_apart({one for one in couples if one[0] in sent}, varying & sent) for row in own):
            differing.add(name)
    return differing, every


@dataclass(frozen=True, kw_only=True)
class Reader:
    """One side of a head, one unit of a feed-forward network, or the output."""

    name: str
    side: str = ""
    gains: Mapping[Feature, frozenset[tuple[str, float]]]  # feature that it reads → what it makes of it
    writes: frozenset[Feature] = frozenset()

    def tells_apart(self, couples: Set[Couple], others: Set[Feature]) -> set[str]:
        """What it makes of other features that differ, and what it does not make of both words of a couple."""
        nothing = frozenset[tuple[str, float]]()
        made = [self.gains.get(one, nothing) ^ self.gains.get(other, nothing) for one, other in couples]
        return {to for rows in (*made, *(self.gains.get(one, nothing) for one in others)) for to, _ in rows}

    def written(self, couples: Set[Couple], others: Set[Feature]) -> Set[Feature]:
        """What differs in what it writes. Another query or key may lead a head to any value."""
        found = self.tells_apart(couples, others)
        if self.side == "value":
            return {feature for feature in self.writes if feature[1] in found}
        return self.writes if found else frozenset()


def readers(plan: Plan) -> Iterator[Reader]:
    def gains(stack: str, rows: Iterable[tuple[str, str, float]]) -> dict[Feature, frozenset[tuple[str, float]]]:
        found: dict[Feature, frozenset[tuple[str, float]]] = {}
        for feature, to, gain in rows:
            found[stack, feature] = found.get((stack, feature), frozenset()) | {(to, gain)}
        return found

    for head in plan.heads:
        own, keys = KINDS[head.place.kind].stack, "encoder" if head.place.kind == "cross" else head.place.kind
        turned = [(key, query, nats) for query, key, nats in head.looks]
        sides = {"query": gains(own, head.looks), "key": gains(keys, turned), "value": gains(keys, head.moves)}
        writes = features(own, (to for _, to, _ in head.moves))
        for side, found in sides.items():
            yield Reader(name=name_of(head.place), side=side, gains=found, writes=writes)
    for unit in plan.units:
        found = gains(unit.stack, [(one, "", gain) for one, gain in unit.reads.items()])
        yield Reader(
            name=f"{unit.stack}.{unit.layer}.feed_forward", gains=found, writes=features(unit.stack, unit.writes)
        )
    last = "encoder" if plan.task == "classification" else "decoder"
    rows = [(one, token, gain) for token, read in plan.reads.items() for one, gain in read.items()]
    yield Reader(name="output", gains=gains(last, rows))


def words_that_differ(subject: Subject) -> set[Couple]:
    """The two words of each place in which a text and its donor differ.

    A translator writes the same words before the one that is compared. So only the words of its encoder differ.
    """
    stack = "decoder" if subject.plan.task == "continuation" else "encoder"
    texts = [(one.text.split(), one.donor.split(), one.positions) for one in subject.truth.examples]
    return {((stack, word(own[i])), (stack, word(donor[i]))) for own, donor, places in texts for i in places}


def features_that_differ(couples: Set[Couple], rows: Sequence[Reader]) -> set[Feature]:
    """What follows from words that differ."""
    found, count = set[Feature](), -1
    while len(found) > count:
        count = len(found)
        for row in rows:
            found |= row.written(couples, found)
    return found

"""Edges that matter only if a head is silent.

A backup head does the work of another head where that one fails (Wang et al. 2023, "Interpretability in the Wild",
section 3.3). While both work, no patch of its edges changes the outcome, so it is in no circuit of the whole model. We
silence one strong head, and score and patch the edges of the model that is left.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from model.circuits.attribution import FloatArray, attribute, patched_differences
from model.circuits.graph import Edge, Graph, without_each
from model.circuits.wired import Wired
from model.interventions import Head

__all__ = ["SILENCED", "Backup", "backups_of", "strongest_heads"]

SILENCED = 3  # heads, one at a time
MOST, LEAST = 10, 0.05  # edges for each head, and how much the share of the task of an edge must grow


@dataclass(frozen=True, kw_only=True)
class Backup:
    """An edge that matters more without a head. Both effects are really patched, as those of a `FoundEdge`."""

    edge: Edge
    silent: Head
    effect: float  # without the head
    effect_before: float  # in the whole model


def strongest_heads(graph: Graph, scores: FloatArray, order: NDArray[np.int64]) -> list[Head]:
    """The heads whose edges in a circuit have the largest |scores|.

    Args:
        graph: The graph of the model.
        scores: One for each edge, (E,).
        order: The edges of the circuit.
    """
    ranked = sorted(order.tolist(), key=lambda number: -abs(scores[number]))
    heads = (graph.edges[number].sender.as_head for number in ranked)
    return list(islice(dict.fromkeys(head for head in heads if head), SILENCED))


def backups_of(pairs: Sequence[Wired], head: Head, scores: FloatArray) -> Iterator[Backup]:
    """The edges that matter more without a head, the largest effect first.

    Args:
        pairs: Of one model and graph.
        head: Of it.
        scores: Of the whole model, the mean over the pairs, (E,).
    """
    whole = np.mean([pair.donor_difference - pair.own_difference for pair in pairs])
    silent = [pair.without(head) for pair in pairs]
    grows = (np.abs(np.mean([attribute(pair) for pair in silent], axis=0)) - np.abs(scores)) / abs(whole)
    numbers = [number for number in np.argsort(-grows)[:MOST].tolist() if grows[number] >= LEAST]
    if not numbers:
        return
    kept = without_each(numbers, len(scores))
    after, before = (
        np.mean([patched_differences(pair, kept) - pair.own_difference for pair in group], axis=0) / whole
        for group in (silent, pairs)
    )
    for i in np.argsort(-np.abs(after)).tolist():
        if abs(after[i]) >= abs(before[i]) + LEAST:
            yield Backup(
                edge=pairs[0].graph.edges[numbers[i]],
                silent=head,
                effect=float(after[i]),
                effect_before=float(before[i]),
            )

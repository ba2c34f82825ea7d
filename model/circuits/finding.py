"""Find the circuit of a task: EAP-IG names candidates, and real patching of their edges confirms them.

Differences of logits are divided by the whole difference between the donor's run and the own run. So 1 is all of what
the model does for the task, and 0 is nothing. For several pairs, means of differences are divided by the mean.
"""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import combinations

import numpy as np
import pandas as pd
import torch
from numpy.typing import NDArray

from model.analysis.importance import Report
from model.analysis.patching import contrast
from model.checkpoints.checkpoint import Loaded
from model.circuits.attribution import FloatArray, attribute, patched_differences
from model.circuits.backup import Backup, backups_of, strongest_heads
from model.circuits.evaluation import Faithfulness, evaluate
from model.circuits.graph import Edge, Graph, graph_of, grown, without_each
from model.circuits.wired import Wired
from model.config.section import ConfigError
from model.inference.run import Run
from model.inference.translate import compute
from model.text.pair import Text, texts_of

__all__ = [
    "CONFIRMED",
    "MOST_PAIRS",
    "MOST_TOKENS",
    "SIZES",
    "Circuit",
    "FoundEdge",
    "Part",
    "Task",
    "effects_by_position",
    "find_circuit",
]

SIZES = (10, 20, 30, 50, 100)  # edges
CONFIRMED = 50  # edges that are really patched
MOST_PAIRS, MOST_TOKENS = 16, 25  # all pairs stay in memory
TextPairs = Sequence[tuple[Text, Text]]


@dataclass(frozen=True, kw_only=True)
class Task:
    """One pair of texts, and the two outcomes whose logits are compared."""

    text: str
    donor: str
    outcome: str
    donor_outcome: str


@dataclass(frozen=True, kw_only=True)
class FoundEdge:
    """An edge, and how far it moves the run towards the donor's outcome when it carries what it carries there."""

    edge: Edge
    score: float  # by EAP-IG
    effect: float | None  # really patched; None for an edge that only has a score


@dataclass(frozen=True, kw_only=True)
class Part:
    """The circuit of the first N edges."""

    size: int
    faithfulness: float  # under the donor's ablation, see `Faithfulness`
    falls: tuple[float, ...]  # for each edge: how much the faithfulness falls when this edge is removed too
    shared: tuple[float, ...]  # for each pair: the share of these edges that its own circuit of N edges also has
    overlap: float | None  # mean over two pairs: edges in both of their own circuits / edges in one of them (Jaccard)


@dataclass(frozen=True, kw_only=True)
class Circuit:
    """What `find_circuit` finds."""

    tasks: tuple[Task, ...]
    all_edges: int  # of the model
    edges: tuple[FoundEdge, ...]  # in the order in which the circuit grows from the logits
    parts: tuple[Part, ...]  # by size
    faithfulness: tuple[Faithfulness, ...]
    agreement: float | None  # mean rank correlation (Spearman) of |score| over all edges between two pairs
    backups: tuple[Backup, ...]  # by silent head

    def to_dict(self) -> dict[str, object]:
        """Its JSON form. An edge has its code, see `Edge.code`."""
        edges = [{"edge": one.edge.code, "score": one.score, "effect": one.effect} for one in self.edges]
        backups = [{**asdict(one), "edge": one.edge.code} for one in self.backups]
        return {**asdict(self), "edges": edges, "backups": backups}


def find_circuit(checkpoint: Loaded, pairs: TextPairs, *, report: Report = lambda done, steps: None) -> Circuit:
    """Find the edges that make the difference between each text and its donor.

    Args:
        checkpoint: Of any task; never changed.
        pairs: (text, donor). Several pairs are of one task, such as rephrasings.
        report: Called between the steps, four for each pair. An exception ends the work.

    Raises:
        ConfigError: the edges of the model cannot be followed, there are too many pairs, or a pair cannot be compared;
            then the message has its number.
    """
    graph = graph_of(checkpoint.model)
    if not 0 < len(pairs) <= MOST_PAIRS:
        raise ConfigError(
            "A circuit is found for 1 to {most} pairs of texts. There are {count}.", most=MOST_PAIRS, count=len(pairs)
        )
    done, steps = 0, 4 * len(pairs)

    def step() -> None:
        nonlocal done
        report(done, steps)
        done += 1

    wired, each = [], []
    for number, (text, donor) in enumerate(pairs, start=1):
        step()
        try:
            wired.append(wire(checkpoint, graph, text, donor))
        except ConfigError as error:
            if len(pairs) == 1:
                raise
            raise ConfigError("Pair {number}: {problem}", number=number, problem=error) from error
        each.append(attribute(wired[-1]))
    whole = np.mean([pair.donor_difference - pair.own_difference for pair in wired])
    scores = np.mean(each, axis=0)
    order, own_orders = grown(graph, scores), [grown(graph, one) for one in each]
    edges = graph.edges
    sizes = sorted({min(size, len(edges)) for size in SIZES})
    confirmed, listed = order[:CONFIRMED], order[: sizes[-1]]
    kept = np.concatenate([without_each(confirmed, len(edges)), *(smaller(order[:size], len(edges)) for size in sizes)])
    rows = []
    for pair in wired:
        step()
        moves = patched_differences(pair, kept, report=lambda *_: report(done, steps)) - pair.own_difference
        rows.append(moves / whole)
    moved = np.mean(rows, axis=0)
    effects, *nested = np.split(moved, len(confirmed) + np.cumsum([0, *(size + 1 for size in sizes[:-1])]))
    backups: list[Backup] = []
    for head in strongest_heads(graph, scores, listed):
        report(done, steps)
        backups += backups_of(wired, head, scores)
    faithfulness = evaluate(wired, scores, report=lambda at, _: report(done + at, steps))
    return Circuit(
        tasks=tuple(map(task_of, pairs, wired)),
        all_edges=len(edges),
        edges=tuple(
            FoundEdge(
                edge=edges[number],
                score=float(scores[number] / whole),
                effect=float(effects[i]) if i < len(effects) else None,
            )
            for i, number in enumerate(listed)
        ),
        parts=tuple(part(size, moves, order, own_orders) for size, moves in zip(sizes, nested, strict=True)),
        faithfulness=faithfulness,
        agreement=agreement(each),
        backups=tuple(backups),
    )


@torch.no_grad()
def effects_by_position(checkpoint: Loaded, text: Text, donor: Text, code: str) -> FloatArray:
    """The effect of an edge that is patched at one position only, for each position that its receiver reads, (T,).

    Args:
        checkpoint: Of any task; never changed.
        text: See `find_circuit`.
        donor: See `find_circuit`.
        code: Of the edge.

    Raises:
        ConfigError: the texts cannot be compared, or the model has no such edge.
    """
    graph = graph_of(checkpoint.model)
    number = next((number for number, edge in enumerate(graph.edges) if edge.code == code), None)
    if number is None:
        raise ConfigError("This model has no edge {code}.", code=code)
    pair = wire(checkpoint, graph, text, donor)
    site = int(np.searchsorted(np.cumsum([site.size for site in graph.sites]), number, side="right"))
    own, theirs = pair.own_parts[site], pair.donor_parts[site]
    length, device = own[0].size(2), own[0].device
    here = torch.eye(length, dtype=torch.bool, device=device)[:, None, :, None]
    others = [*pair.own_parts]
    others[site] = [torch.where(here, *both) for both in zip(theirs, own, strict=True)]  # (T, U', T, D)
    kept = torch.ones(length, len(graph.edges), dtype=torch.bool, device=device)
    kept[:, number] = False
    moves = pair.differences(pair.own, kept=kept, others=others) - pair.own_difference
    effects: FloatArray = (moves / (pair.donor_difference - pair.own_difference)).cpu().numpy()
    return effects


def wire(checkpoint: Loaded, graph: Graph, text: Text, donor: Text) -> Wired:
    """Raises ConfigError if the texts cannot be compared edge by edge."""
    own, theirs = (compute(checkpoint, Run(text=one)) for one in (text, donor))
    found = contrast(checkpoint, theirs, own)
    if found is None:
        raise ConfigError("Both texts lead to the same result, so nothing differs. Change a word of the donor.")
    longest = max(map(len, (*found.own, *found.donor)))
    if longest > MOST_TOKENS:
        raise ConfigError(
            "Until the results differ, the model reads {tokens} tokens. Edges are patched in up to {most} tokens. "
            "Shorten the texts.",
            tokens=longest,
            most=MOST_TOKENS,
        )
    return Wired(checkpoint.model, graph, found)


def task_of(pair: tuple[Text, Text], wired: Wired) -> Task:
    (text, donor), (outcome, donor_outcome) = pair, wired.contrast.names
    return Task(
        text="\t".join(filter(None, texts_of(text))),
        donor="\t".join(filter(None, texts_of(donor))),
        outcome=outcome,
        donor_outcome=donor_outcome,
    )


def smaller(circuit: NDArray[np.int64], edges: int) -> NDArray[np.bool_]:
    """A circuit of N edges, then the same without each of its edges, (1 + N, E)."""
    whole = np.isin(np.arange(edges), circuit)
    return np.concatenate([whole[None], whole & without_each(circuit, edges)])


def part(size: int, moves: FloatArray, order: NDArray[np.int64], own_orders: Sequence[NDArray[np.int64]]) -> Part:
    """The circuit of the first edges of an order.

    Args:
        size: N.
        moves: How far the circuit and the circuit without each of its edges are from the own run, (1 + N,).
        order: The order in which the circuit grows, (E,).
        own_orders: That of each pair alone.
    """
    circuit, own = set(order[:size].tolist()), [set(one[:size].tolist()) for one in own_orders]
    overlaps = [len(one & other) / len(one | other) for one, other in combinations(own, 2)]
    return Part(
        size=size,
        faithfulness=float(1 - moves[0]),
        falls=tuple((moves[1:] - moves[0]).tolist()),
        shared=tuple(len(circuit & one) / size for one in own),
        overlap=float(np.mean(overlaps)) if overlaps else None,
    )


def agreement(scores: Sequence[FloatArray]) -> float | None:
    """The mean rank correlation of the sizes of the scores between two pairs; None for one pair."""
    correlations = pd.DataFrame(np.abs(scores).T).corr(method="spearman").to_numpy()
    between = correlations[np.triu_indices(len(scores), k=1)]
    return float(between.mean()) if between.size else None

"""How much of a task circuits of several sizes do (Mueller et al. 2025, "MIB")."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from model.analysis.importance import Report
from model.circuits.attribution import FloatArray, mean_parts, patched_differences
from model.circuits.graph import grown
from model.circuits.wired import Wired

__all__ = ["FRACTIONS", "Faithfulness", "evaluate"]

FRACTIONS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # of all edges; the ends 0 and 1 are exact


@dataclass(frozen=True, kw_only=True)
class Faithfulness:
    """Circuits of growing size under one ablation of all edges outside; 1 is the whole model, 0 no edge."""

    ablation: str  # "donor" or "mean"
    sizes: tuple[int, ...]  # edges of each circuit
    circuit: tuple[float, ...]
    random: tuple[float, ...]  # of a random circuit of the same size, grown in the same way
    without: tuple[float, ...]  # of all edges but those of the circuit: low where the circuit is necessary
    cpr: float  # the area under `circuit`, over the share of edges
    cmd: float  # the area between `circuit` and 1


def evaluate(
    pairs: Sequence[Wired], scores: FloatArray, *, report: Report = lambda done, steps: None
) -> tuple[Faithfulness, ...]:
    """Measure circuits that grow from the logits along the largest |scores|.

    Faithfulness is (m(C) − m(∅)) / (m(M) − m(∅)), where m is the mean logit difference of the pairs.

    Args:
        pairs: Of one model and graph.
        scores: One for each edge, (E,).
        report: Called before each batch of runs, with the pairs that are done. An exception ends the work.

    Returns:
        Under the donor's parts, and under the mean of the given texts.
    """
    graph, edges = pairs[0].graph, len(scores)
    sizes = sorted({min(edges, max(1, round(fraction * edges))) for fraction in FRACTIONS})
    chance = np.random.default_rng(0).random(edges, dtype=np.float32)
    circuits, random = (kept_edges(grown(graph, values), sizes) for values in (scores, chance))
    ends = np.array([[False], [True]]).repeat(edges, axis=1)
    kept = np.concatenate([ends, circuits, random, ~circuits])
    found, count = [], len(sizes)
    for step, ablation in enumerate(("donor", "mean")):
        others = mean_parts(pairs) if ablation == "mean" else ()
        rows = []
        for number, pair in enumerate(pairs):
            at = step * len(pairs) + number
            tell: Report = lambda *_, at=at: report(at, 2 * len(pairs))  # noqa: E731
            rows.append(patched_differences(pair, kept, others=others, report=tell))
        nothing, whole, *measured = np.mean(rows, axis=0)
        shares = ((np.array(measured) - nothing) / (whole - nothing)).tolist()
        curve, width = np.array([0.0, *shares[:count], 1.0]), np.array([0, *sizes, edges]) / edges
        found.append(
            Faithfulness(
                ablation=ablation,
                sizes=tuple(sizes),
                circuit=tuple(shares[:count]),
                random=tuple(shares[count : 2 * count]),
                without=tuple(shares[2 * count :]),
                cpr=float(np.trapezoid(curve, width)),
                cmd=float(np.trapezoid(np.abs(1 - curve), width)),
            )
        )
    return tuple(found)


def kept_edges(order: NDArray[np.int64], sizes: Sequence[int]) -> NDArray[np.bool_]:
    """The circuits of the first edges of an order, (N, E)."""
    kept = np.zeros((len(sizes), len(order)), bool)
    for row, size in zip(kept, sizes, strict=True):
        row[order[:size]] = True
    return kept

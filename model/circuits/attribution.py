"""The score of every edge by gradients, and the real effect of an edge that is patched.

EAP-IG: edge attribution patching with integrated gradients (Hanna et al. 2024, "Have Faith in Faithfulness", section
3.2). The embeddings go in steps from the own text to the donor's. The score of an edge is the mean gradient at its
receiver times the change of its sender. We take the middles of the steps.

Gradients of all steps at the embeddings, times the change of the embeddings, add up to the change of the logits if the
steps are fine enough (completeness, Sundararajan et al. 2017, "Axiomatic Attribution for Deep Networks", section 3).
So we double the steps until they do, as long as they fit into one batch. A narrow function or a sharp softmax needs
more steps than others.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from model.analysis.importance import Report
from model.circuits.wired import Parts, Wired

__all__ = ["attribute", "batch_rows", "integrated", "mean_parts", "patched_differences"]

FloatArray = NDArray[np.float32]
STEPS, MOST_STEPS = 5, 80
INCOMPLETE = 0.05  # of the change: how much the embeddings may fail to account for
MAX_NUMBERS = 1 << 23  # in the parts of all rows of a batch


def attribute(pair: Wired, *, steps: int = STEPS) -> FloatArray:
    """The scores of all edges, (E,): how much each changes the difference of the logits, to first order.

    Args:
        pair: Two texts; the model never changes.
        steps: m, the fewest steps of the integral.
    """
    whole, most = pair.donor_difference - pair.own_difference, min(MOST_STEPS, batch_rows(pair))
    while True:
        scores, found = integrated(pair, steps)
        if 2 * steps > most or abs(found - whole) <= INCOMPLETE * abs(whole):
            return scores
        steps *= 2


def integrated(pair: Wired, steps: int) -> tuple[FloatArray, float]:
    """The scores of all edges, (E,), and how much of the change the embeddings account for."""
    changes = [
        torch.cat([theirs - ours for ours, theirs in zip(own, donor, strict=True)], dim=1)[0]
        for own, donor in zip(pair.own_parts, pair.donor_parts, strict=True)
    ]
    grids, found = [torch.zeros(())] * len(changes), 0.0
    for shares in ((torch.arange(steps, device=pair.model.device) + 0.5) / steps).split(batch_rows(pair)):
        places = shares[:, None, None]
        with torch.enable_grad():
            mixed = {name: (own + places * (pair.donor[name] - own)).requires_grad_() for name, own in pair.own.items()}
            nudges = [
                torch.zeros(len(shares), len(site.receivers), *one.shape[-2:], device=one.device, requires_grad=True)
                for site, (one, *_) in zip(pair.graph.sites, pair.own_parts, strict=True)
            ]
            difference = pair.differences(mixed, nudges=nudges).sum()
            gradients = torch.autograd.grad(difference, [*mixed.values(), *nudges])
        inputs, at_receivers = gradients[: len(mixed)], gradients[len(mixed) :]
        moved = ((pair.donor[name] - pair.own[name]) * one for name, one in zip(mixed, inputs, strict=True))
        found += sum(float(one.sum()) for one in moved) / steps
        grids = [
            torch.einsum("utd,rtd->ur", change, gradient.sum(dim=0) / steps).flatten().cpu() + so_far
            for change, gradient, so_far in zip(changes, at_receivers, grids, strict=True)
        ]
    return torch.cat(grids).numpy(), found


def batch_rows(pair: Wired) -> int:
    """How many runs of a pair fit into one batch."""
    return max(1, MAX_NUMBERS // max(sum(part.numel() for part in site) for site in pair.own_parts))


@torch.no_grad()
def patched_differences(
    pair: Wired,
    kept: NDArray[np.bool_],
    *,
    others: Parts = (),
    report: Report = lambda done, runs: None,
) -> FloatArray:
    """Run the own text while some edges carry what their senders add in another run.

    Args:
        pair: Two texts.
        kept: False for an edge that is patched, (N, E).
        others: What a patched edge carries at each site; by default the parts of the donor's run.
        report: Called before each batch with the runs done and all runs. An exception ends the work.

    Returns:
        The logit of the donor's outcome minus that of the own outcome, (N,).
    """
    found: list[NDArray[np.float32]] = []
    rows = batch_rows(pair)
    for start in range(0, len(kept), rows):
        report(start, len(kept))
        batch = torch.from_numpy(kept[start : start + rows]).to(pair.model.device)
        found.append(pair.differences(pair.own, kept=batch, others=others or pair.donor_parts).cpu().numpy())
    return np.concatenate(found)


def mean_parts(pairs: Sequence[Wired]) -> Parts:
    """What each sender adds at each site, as the mean over all positions of all texts, (1, U', 1, D)."""
    texts = [parts for pair in pairs for parts in (pair.own_parts, pair.donor_parts)]
    return [
        [torch.cat([*block], dim=2).mean(dim=2, keepdim=True) for block in zip(*site, strict=True)]
        for site in zip(*texts, strict=True)
    ]

"""The score of every edge by gradients, and the real effect of an edge that is patched.

EAP-IG: edge attribution patching with integrated gradients (Hanna et al. 2024, "Have Faith in Faithfulness", section
3.2). The embeddings go in steps from the own text to the donor's. The score of an edge is the mean gradient at its
receiver times the change of its sender. We take the middles of the steps.
"""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from model.analysis.importance import Report
from model.circuits.wired import Parts, Wired

__all__ = ["attribute", "batch_rows", "mean_parts", "patched_differences"]

FloatArray = NDArray[np.float32]
MAX_NUMBERS = 1 << 23  # in the parts of all rows of a batch


def attribute(pair: Wired, *, steps: int = 5) -> FloatArray:
    """The scores of all edges, (E,): how much each changes the difference of the logits, to first order.

    Args:
        pair: Two texts; the model never changes.
        steps: m, of the integral.
    """
    shares = (torch.arange(steps, device=pair.model.device) + 0.5)[:, None, None] / steps
    mixed = {name: own + shares * (pair.donor[name] - own) for name, own in pair.own.items()}
    with torch.enable_grad():
        nudges = [
            torch.zeros(steps, len(site.receivers), *own.shape[-2:], device=own.device, requires_grad=True)
            for site, own in zip(pair.graph.sites, pair.own_parts, strict=True)
        ]
        gradients = torch.autograd.grad(pair.differences(mixed, nudges=nudges).sum(), nudges)
    grids = (
        torch.einsum("utd,rtd->ur", (donor - own)[0], gradient.mean(dim=0)).flatten()
        for own, donor, gradient in zip(pair.own_parts, pair.donor_parts, gradients, strict=True)
    )
    return torch.cat(list(grids)).cpu().numpy()


def batch_rows(pair: Wired) -> int:
    """How many runs of a pair fit into one batch."""
    return max(1, MAX_NUMBERS // max(part.numel() for part in pair.own_parts))


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
    """What each sender adds at each site, as the mean over all positions of all texts, (1, U, 1, D)."""
    texts = [parts for pair in pairs for parts in (pair.own_parts, pair.donor_parts)]
    return [
        torch.cat([part[0] for part in site], dim=1).mean(dim=1, keepdim=True)[None]
        for site in zip(*texts, strict=True)
    ]

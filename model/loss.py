"""Cross-entropy with label smoothing, in as few passes over the (tokens × vocabulary) matrix as it takes."""

from typing import Any

import torch
from torch import Tensor

__all__ = ["smoothed_cross_entropy"]


class SmoothedCrossEntropy(torch.autograd.Function):
    """The gradient is softmax(x) minus the smoothed target, so nothing but the log-sum-exp needs to be kept."""

    @staticmethod
    def forward(ctx: Any, logits: Tensor, targets: Tensor, smoothing: float) -> Tensor:
        lse = logits.logsumexp(dim=-1)  # (N,)
        ctx.save_for_backward(logits, targets, lse)
        ctx.smoothing = smoothing
        correct = logits.gather(-1, targets[:, None]).squeeze(-1)  # (N,)
        expected = (1 - smoothing) * correct + smoothing * logits.mean(dim=-1)
        return (lse - expected).sum()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, None, None]:
        logits, targets, lse = ctx.saved_tensors
        gradient = (logits - lse[:, None]).exp_().sub_(ctx.smoothing / logits.size(-1))  # (N, V)
        gradient[torch.arange(targets.numel(), device=targets.device), targets] -= 1 - ctx.smoothing
        return gradient.mul_(grad), None, None


def smoothed_cross_entropy(logits: Tensor, targets: Tensor, smoothing: float = 0.0) -> Tensor:
    """Sum over tokens of the cross-entropy with a target mixed with the uniform distribution.

    The mixture is Szegedy et al. 2016, section 7; the same as `torch.nn.functional.cross_entropy(label_smoothing=…)`.

    Args:
        logits: (N, V), computed in float32 whatever comes in.
        targets: Ids (N,), no padding among them.
        smoothing: Share of the target mass spread evenly over the vocabulary.

    Returns:
        A scalar, in nats, not divided by N.
    """
    result: Tensor = SmoothedCrossEntropy.apply(logits.float(), targets, smoothing)
    return result

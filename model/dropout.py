"""Dropout whose random numbers cost an eighth on a CPU.

A CPU spends a fifth of a small Transformer's training step on drawing one 64-bit number for every activation.
Here each draw is cut into eight bytes that serve eight activations, which quantizes the rate to 1/256.
"""

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["Dropout", "dropout"]


def dropout(x: Tensor, rate: float, training: bool) -> Tensor:
    """Zero each element with probability `rate` and scale up the others, so that the expectation stays.

    Args:
        x: Any shape.
        rate: In [0, 1); on a CPU rounded to the nearest 1/256.
        training: Return `x` itself if false.
    """
    if not training or rate == 0.0:
        return x
    if x.device.type != "cpu":
        return F.dropout(x, rate)
    dropped = min(round(rate * 256), 255)
    draws = torch.empty(math.ceil(x.numel() / 8), dtype=torch.int64).random_(-(2**63), None)
    kept = draws.view(torch.uint8)[: x.numel()].view(x.shape) >= dropped
    return x * kept.to(x.dtype).mul_(256 / (256 - dropped))


class Dropout(nn.Module):
    """`dropout` at a fixed rate, active in training mode."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.rate, self.training)

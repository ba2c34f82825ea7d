"""Dropout whose random numbers cost an eighth on a CPU.

A CPU spends a fifth of a small Transformer's training step on drawing one 64-bit number for every activation.
Here each draw is cut into eight bytes that serve eight activations, which quantizes the rate to 1/256.
"""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["Dropout", "add_dropped", "dropout", "keep_mask", "kept_scale"]


def keep_mask(shape: Sequence[int], rate: float, dtype: torch.dtype) -> Tensor:
    """Ones with probability 1 − `rate`, rounded to the nearest 1/256, and zeros; on the CPU."""
    count = math.prod(shape)
    draws = torch.empty(math.ceil(count / 8), dtype=torch.int64).random_(-(2**63), None)
    # Compared in place, as bytes: a boolean result takes PyTorch ten times as long to write and to convert.
    return draws.view(torch.uint8)[:count].ge_(threshold(rate)).view(*shape).to(dtype)


def kept_scale(rate: float) -> float:
    """What the kept elements are multiplied by, so that the expectation stays."""
    return 256 / (256 - threshold(rate))


def threshold(rate: float) -> int:
    return min(round(rate * 256), 255)


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
    return x * keep_mask(x.shape, rate, x.dtype).mul_(kept_scale(rate))


def add_dropped(x: Tensor, y: Tensor, rate: float, training: bool) -> Tensor:
    """`x + dropout(y)` of two tensors of one shape, in one pass over them on a CPU."""
    if not training or rate == 0.0 or y.device.type != "cpu":
        return x + dropout(y, rate, training)
    return torch.addcmul(x, y, keep_mask(y.shape, rate, y.dtype), value=kept_scale(rate))


class Dropout(nn.Module):
    """`dropout` at a fixed rate, active in training mode."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        return dropout(x, self.rate, self.training)

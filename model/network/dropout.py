"""Dropout with random numbers that cost an eighth on a CPU.

PyTorch draws one 64-bit number for every activation. On a CPU this takes a fifth of a small Transformer's training
step. Here each number gives eight bytes for eight activations, so the rate is a multiple of 1/256. For a rate below
1/256 or above 255/256, PyTorch's own dropout is used.
"""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["Dropout", "dropout_mask"]


class Dropout(nn.Module):
    """In training, set each element to zero with probability `rate`, and scale the others to keep the expectation."""

    def __init__(self, rate: float) -> None:
        """Keep the rate.

        Args:
            rate: In [0, 1). On a CPU, rates from 1/256 to 255/256 are rounded to the nearest 1/256.
        """
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        if not self.training or self.rate == 0.0:
            return x
        if x.device.type != "cpu":
            return F.dropout(x, self.rate)
        return x * dropout_mask(x.shape, self.rate, x.dtype)


def dropout_mask(shape: Sequence[int], rate: float, dtype: torch.dtype) -> Tensor:
    """The factors of dropout on a CPU: 0 with probability `rate`, otherwise the factor that keeps the expectation."""
    if not 1 <= rate * 256 <= 255:
        return F.dropout(torch.ones(*shape, dtype=dtype), rate)
    count, threshold = math.prod(shape), round(rate * 256)
    draws = torch.empty(math.ceil(count / 8), dtype=torch.int64).random_(-(2**63), None)
    # Compared in place, as bytes. To write and convert a boolean result takes PyTorch ten times as long.
    kept = draws.view(torch.uint8)[:count].ge_(threshold).view(*shape)
    return kept.to(dtype).mul_(256 / (256 - threshold))

"""Dropout whose random numbers cost an eighth on a CPU.

A CPU spends a fifth of a small Transformer's training step on drawing one 64-bit number for every activation.
Here each draw is cut into eight bytes that serve eight activations, which quantizes the rate to 1/256.
A rate below 1/256 or above 255/256 would become 0 or too small: PyTorch draws for it exactly.
"""

import math
from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

__all__ = ["Dropout", "dropout_mask"]


class Dropout(nn.Module):
    """In training, zero each element with probability `rate` and scale up the others, so that the expectation stays."""

    def __init__(self, rate: float) -> None:
        """Keep the rate.

        Args:
            rate: In [0, 1); on a CPU it is rounded to the nearest 1/256 where it is from 1/256 to 255/256.
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
    """What dropout multiplies with on a CPU: 0 with probability `rate`, or else what keeps the expectation."""
    if not 1 <= rate * 256 <= 255:
        return F.dropout(torch.ones(*shape, dtype=dtype), rate)
    count, threshold = math.prod(shape), round(rate * 256)
    draws = torch.empty(math.ceil(count / 8), dtype=torch.int64).random_(-(2**63), None)
    # Compared in place, as bytes: a boolean result takes PyTorch ten times as long to write and to convert.
    kept = draws.view(torch.uint8)[:count].ge_(threshold).view(*shape)
    return kept.to(dtype).mul_(256 / (256 - threshold))

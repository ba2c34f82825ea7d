"""Rotary positions as data: what they do to queries and keys."""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

__all__ = ["Rotation"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Rotation:
    """Rotary positions of some layers ("RoFormer", Su et al. 2021, section 3.2.2).

    At position p, pair i is rotated by the angle p · frequencies[i].
    """

    layers: tuple[int, ...]  # counted from 0
    frequencies: Tensor  # (R / 2,), radians for each position, with the scaling of long texts
    pairing: Literal["halves", "neighbours"]  # dimension i is paired with i + R / 2, or 2i with 2i + 1
    first: int  # the first of the R rotated dimensions of a query or key

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The two dimensions of each pair."""
        half = len(self.frequencies)
        if self.pairing == "halves":
            return tuple((self.first + i, self.first + half + i) for i in range(half))
        return tuple((self.first + 2 * i, self.first + 2 * i + 1) for i in range(half))

    def rotate(self, x: Tensor) -> Tensor:  # (…, T, K) → (…, T, K)
        """Rotate the vectors of positions 0 … T − 1."""
        first, second = (list(side) for side in zip(*self.pairs, strict=True))
        angles = (torch.arange(x.size(-2))[:, None] * self.frequencies.float().cpu()).to(x)  # (T, R / 2)
        rotated = x.clone()
        rotated[..., first] = x[..., first] * angles.cos() - x[..., second] * angles.sin()
        rotated[..., second] = x[..., first] * angles.sin() + x[..., second] * angles.cos()
        return rotated

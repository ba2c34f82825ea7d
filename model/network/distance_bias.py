"""Numbers for the distance of query and key, which a layer adds to its scores instead of positions of the tokens.

ALiBi lowers a score in proportion to the distance. The relative bias of T5 learns a number for each head and each range
of distances. Cross-attention has neither: a position in the target and a position in the source have no distance. T5
has none there for the same reason (Raffel et al. 2020, section 2.1).
"""

import math
from itertools import chain

import torch
from torch import Tensor, nn

from model.network.positional import LayerPositions

__all__ = ["BucketedBias", "DistanceBias", "LinearBias", "alibi_slopes", "distance_buckets"]

BUCKETS = 32  # of T5: for the distances of one side, or of both sides together
FARTHEST = 128  # tokens, of T5: larger distances share one bucket


class DistanceBias(LayerPositions):
    """A number for each head and each distance."""

    @property
    def device(self) -> torch.device:
        return next(chain(self.parameters(), self.buffers())).device

    def by_distance(self, distances: Tensor) -> Tensor:
        """The numbers of some distances.

        Args:
            distances: Position of the key − position of the query, of any shape (…).

        Returns:
            (1, H, …).
        """
        raise NotImplementedError

    def bias(self, queries: int, keys: int, *, offset: int = 0) -> Tensor:
        """See `LayerPositions.bias`."""
        read = torch.arange(keys, device=self.device)
        places = torch.arange(offset, offset + queries, device=self.device)
        return self.by_distance(read - places[:, None])


class LinearBias(DistanceBias):
    """ALiBi: minus the slope of the head times the distance (Press et al. 2022, section 3).

    Nothing is trained or saved. The paper has causal attention only. In an encoder the tokens after the query count
    like those before it.
    """

    def __init__(self, *, num_heads: int) -> None:
        super().__init__()
        self.register_buffer("slopes", alibi_slopes(num_heads), persistent=False)  # (H,)

    def by_distance(self, distances: Tensor) -> Tensor:
        slopes = self.get_buffer("slopes").view(1, -1, *[1] * distances.dim())
        return -distances.abs() * slopes  # (1, H, …)


class BucketedBias(DistanceBias):
    """A learned number for each head and each bucket of distances (T5, Raffel et al. 2020, section 2.1)."""

    def __init__(self, *, num_heads: int, d_model: int, both_sides: bool) -> None:
        """Args:
        num_heads: H.
        d_model: The numbers begin as small as in T5, whose initial values depend on it.
        both_sides: A query may attend to later keys, so half of the buckets are for them.
        """
        super().__init__()
        self.both_sides = both_sides
        self.table = nn.Parameter(torch.randn(BUCKETS, num_heads) * d_model**-0.5)  # (N, H)

    def by_distance(self, distances: Tensor) -> Tensor:
        found = self.table[distance_buckets(distances, both_sides=self.both_sides)]  # (…, H)
        return found.movedim(-1, 0)[None]  # (1, H, …)


def alibi_slopes(num_heads: int) -> Tensor:
    """The slope of each head: 2^(-8/H), 2^(-16/H), … 2^(-8) (Press et al. 2022, section 3).

    If H is no power of two, the heads beyond the largest power of two in H get every second slope of twice as many
    heads, as in the authors' code.

    Returns:
        (H,).
    """

    def powers(count: int) -> Tensor:
        return 2.0 ** (-8.0 / count * torch.arange(1, count + 1, dtype=torch.float64))

    whole = 2 ** int(math.log2(num_heads))
    return torch.cat([powers(whole), powers(2 * whole)[::2][: num_heads - whole]]).float()


def distance_buckets(distances: Tensor, *, both_sides: bool) -> Tensor:
    """The bucket of each distance: one for each small distance, and wider ones towards `FARTHEST`.

    Args:
        distances: Position of the key − position of the query.
        both_sides: Keys after the query have the second half of the buckets. Otherwise they share bucket 0.

    Returns:
        Numbers from 0 to `BUCKETS` - 1, in the shape of `distances`.
    """
    side = BUCKETS // 2 if both_sides else BUCKETS
    steps = distances.abs() if both_sides else (-distances).clamp_min(0)
    exact = side // 2
    growth = torch.log(steps.clamp_min(1).float() / exact) / math.log(FARTHEST / exact)  # 0 at `exact`, 1 at `FARTHEST`
    wide = (exact + (growth * (side - exact)).long()).clamp_max(side - 1)
    return torch.where(steps < exact, steps, wide) + side * (both_sides & (distances > 0))

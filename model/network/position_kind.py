"""How a model knows the positions of its tokens, as data: a table of vectors, rotations, or numbers for distances."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from model.messages import N_

__all__ = ["SENTENCES", "PositionKind", "RelativeBias", "Rotation"]

SENTENCES = {
    "learned": N_("A learned vector for each position is added to the token vectors before the first layer."),
    "sinusoidal": N_(
        "Sine and cosine waves are added to the token vectors before the first layer: one vector for each position."
    ),
    "table": N_(
        "A vector for each position is added to the token vectors before the first layer. The vectors come with "
        "the weights."
    ),
    "rotary": N_(
        "Nothing is added to the token vectors. Each layer rotates pairs of numbers in its queries and keys, and "
        "the angle grows with the position."
    ),
    "relative": N_(
        "Nothing is added to the token vectors. Each layer adds a learned number to its scores. It depends on "
        "the head and on the distance between query and key."
    ),
    "alibi": N_(
        "Nothing is added to the token vectors. Each head lowers its scores in proportion to the distance between "
        "query and key (ALiBi)."
    ),
    "none": N_("Nothing tells the model where a token is. In a decoder, the mask shows which tokens came before."),
    "recurrence": N_("The model reads the tokens one after the other, so it needs no positions."),
    "own": N_("The model knows the positions in a way that Headlight cannot show."),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Rotation:
    """Rotary positions of some layers ("RoFormer", Su et al. 2021, section 3.2.2).

    At position p, pair i is rotated by the angle p · frequencies[i].
    """

    layers: tuple[int, ...]  # counted from 0
    frequencies: Tensor  # (R / 2,), radians for each position, with the scaling of long texts
    pairing: Literal["halves", "neighbours"]  # dimension i is paired with i + R / 2, or 2i with 2i + 1
    first: int  # the first rotated dimension of a query or key
    width: int  # dimensions of a query or key; R of them are rotated
    scaling: str = "default"  # the library's name of the change for long texts, such as "llama3" or "yarn"

    @property
    def rotated(self) -> int:
        """R, the number of rotated dimensions."""
        return 2 * len(self.frequencies)

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The two dimensions of each pair."""
        half = len(self.frequencies)
        if self.pairing == "halves":
            return tuple((self.first + i, self.first + half + i) for i in range(half))
        return tuple((self.first + 2 * i, self.first + 2 * i + 1) for i in range(half))

    def angles(self, positions: int) -> Tensor:
        """The angle of each pair at each position, (positions, R / 2)."""
        return torch.arange(positions)[:, None] * self.frequencies.float().cpu()

    def rotate(self, x: Tensor) -> Tensor:  # (…, T, K) → (…, T, K)
        """Rotate the vectors of positions 0 … T − 1."""
        first, second = (list(side) for side in zip(*self.pairs, strict=True))
        angles = self.angles(x.size(-2)).to(x)
        rotated = x.clone()
        rotated[..., first] = x[..., first] * angles.cos() - x[..., second] * angles.sin()
        rotated[..., second] = x[..., first] * angles.sin() + x[..., second] * angles.cos()
        return rotated


@dataclass(frozen=True, kw_only=True, eq=False)
class RelativeBias:
    """Numbers that are added to the scores (T5, Raffel et al. 2020, section 2.1). Far distances share a bucket."""

    layers: tuple[int, ...]  # counted from 0
    buckets: Tensor  # (N, H), as learned
    distances: Tensor  # (P,), position of the key − position of the query
    bias: Tensor  # (H, P)


@dataclass(frozen=True, kw_only=True, eq=False)
class PositionKind:
    """How the encoder or the decoder of a model knows the positions of its tokens."""

    name: Literal["learned", "sinusoidal", "table", "rotary", "relative", "alibi", "recurrence", "none", "own"]
    table: Tensor | None = None  # of the first three: the vectors in the order of the positions, (N, D)
    rotations: Sequence[Rotation] = ()  # of "rotary": one for each group of layers that rotate alike
    biases: Sequence[RelativeBias] = ()  # of "relative": one for each group of layers that share a table
    slopes: Tensor | None = None  # of "alibi" (Press et al. 2022): how much each head lowers a score per token, (H,)
    unaware: tuple[int, ...] = ()  # layers that rotate nothing in a model whose other layers do (SmolLM3)

    @property
    def sentence(self) -> str:
        """What happens to the positions, marked for translation."""
        return SENTENCES[self.name]

"""Positional encodings give a Transformer the order of its tokens.

Three kinds add a vector to each token. The others work in each attention layer instead: they are `LayerPositions`. The
rotary kind rotates queries and keys, and those in `distance_bias.py` add numbers to the scores.
"""

import math

import torch
from torch import Tensor, nn

from model.config.section import require

__all__ = [
    "FixedPositions",
    "LayerPositions",
    "LearnedPositions",
    "PositionalEncoding",
    "RotaryPositions",
    "SinusoidalPositions",
    "sinusoidal_table",
]


def sinusoidal_table(length: int, d_model: int, *, base: float = 10_000.0) -> Tensor:
    """Sine and cosine waves of increasing wavelength ("Attention Is All You Need", section 3.5).

    PE(p, 2i) = sin(p / base^(2i / d_model)) and PE(p, 2i + 1) = cos(p / base^(2i / d_model)).

    Returns:
        (length, d_model).
    """
    position = torch.arange(length, dtype=torch.float64)[:, None]  # (S, 1)
    rate = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float64) * (-math.log(base) / d_model))  # (D/2,)
    angle = position * rate  # (S, D/2)
    return torch.stack([angle.sin(), angle.cos()], dim=-1).flatten(1).float()  # (S, D)


def rows(table: Tensor, start: int, end: int) -> Tensor:
    """The rows of positions `start` to `end - 1`.

    Raises:
        ConfigError: the text has more tokens than the table has rows.
    """
    require(
        end <= len(table),
        "The text has {n} tokens, but this model has {positions} positions. Shorten the text.",
        n=end,
        positions=len(table),
    )
    return table[start:end]


class PositionalEncoding(nn.Module):
    """Adds one row of a table to each token."""

    @property
    def table(self) -> Tensor:
        """One row per position, (max_length, D)."""
        raise NotImplementedError

    def forward(self, x: Tensor, *, offset: int = 0) -> Tensor:
        """Add the rows `offset` … `offset + T - 1` to `x`, (B, T, D).

        Raises:
            ValueError: the text has more tokens than the table has rows.
        """
        return x + rows(self.table, offset, offset + x.size(1))  # (B, T, D); step: position


class FixedPositions(PositionalEncoding):
    """A vector for each position that is not trained."""

    def __init__(self, table: Tensor) -> None:
        """Args:
        table: (max_length, D).
        """
        super().__init__()
        self.register_buffer("vectors", table, persistent=False)

    @property
    def table(self) -> Tensor:
        return self.get_buffer("vectors")


class SinusoidalPositions(FixedPositions):
    """Waves, as `sinusoidal_table` computes them. Nothing is trained or saved."""

    def __init__(self, *, max_length: int, d_model: int) -> None:
        super().__init__(sinusoidal_table(max_length, d_model))


class LearnedPositions(PositionalEncoding):
    """A trained vector for each position."""

    def __init__(self, *, max_length: int, d_model: int) -> None:
        super().__init__()
        self.embedding = nn.Parameter(torch.randn(max_length, d_model) * d_model**-0.5)

    @property
    def table(self) -> Tensor:
        return self.embedding


class LayerPositions(nn.Module):
    """What an attention layer does to distinguish positions. This class does nothing, as in cross-attention."""

    def rotate(self, x: Tensor, *, offset: int = 0) -> Tensor:
        """Rotate queries or keys by their positions.

        Args:
            x: Queries or keys of positions `offset` … `offset + T - 1`, (B, H, T, K).
            offset: Positions that are already in the cache.

        Returns:
            (B, H, T, K).
        """
        return x

    def bias(self, queries: int, keys: int, *, offset: int = 0) -> Tensor | None:
        """What is added to the scores of the queries at positions `offset` … `offset + T - 1`.

        Args:
            queries: T.
            keys: S. Their positions are `0` … `S - 1`.
            offset: Positions that are already in the cache.

        Returns:
            (1, H, T, S); None if nothing is added.
        """
        return None


class RotaryPositions(LayerPositions):
    """Rotates each pair of numbers in a query or key. The angle is the position times the rate of the pair.

    Then the product of a query and a key depends on their distance ("RoFormer", Su et al. 2021, section 3.2.2). The
    rates are the same as for the sinusoidal encoding. Nothing is trained or saved.
    """

    def __init__(self, *, max_length: int, width: int, base: float = 10_000.0) -> None:
        super().__init__()
        self.register_buffer("waves", sinusoidal_table(max_length, width, base=base), persistent=False)

    @property
    def table(self) -> Tensor:
        """Sine and cosine of the angle of each pair, one row per position, (max_length, K)."""
        return self.get_buffer("waves")

    def rotate(self, x: Tensor, *, offset: int = 0) -> Tensor:
        """See `LayerPositions.rotate`.

        Raises:
            ValueError: the text has more tokens than the table has rows.
        """
        waves = rows(self.table, offset, offset + x.size(2)).to(x.dtype)  # (T, K)
        sine, cosine = waves.unflatten(-1, (-1, 2)).unbind(-1)  # (T, K/2)
        first, second = x.unflatten(-1, (-1, 2)).unbind(-1)  # (B, H, T, K/2)
        rotated = first * cosine - second * sine, first * sine + second * cosine  # step: turn
        return torch.stack(rotated, dim=-1).flatten(-2)  # (B, H, T, K)

"""Positional encodings: what tells a Transformer the order of its tokens.

Two kinds add a vector to each token; the rotary one turns the queries and keys of a layer instead.
"""

import math

import torch
from torch import Tensor, nn

__all__ = ["LearnedPositions", "PositionalEncoding", "RotaryPositions", "SinusoidalPositions", "sinusoidal_table"]


def sinusoidal_table(length: int, d_model: int, *, base: float = 10_000.0) -> Tensor:
    """Sine and cosine waves of rising wavelength ("Attention Is All You Need", section 3.5).

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
        ValueError: the table ends before the text does.
    """
    if end > len(table):
        raise ValueError(f"{end} positions were asked for, but this model has {len(table)}; shorten the text.")
    return table[start:end]


class PositionalEncoding(nn.Module):
    """Adds a row of its table to every token."""

    @property
    def table(self) -> Tensor:
        """One row a position, (max_length, D)."""
        raise NotImplementedError

    def forward(self, x: Tensor, *, offset: int = 0) -> Tensor:
        """Add the rows `offset` … `offset + T - 1` to `x`, (B, T, D).

        Raises:
            ValueError: the table ends before the text does.
        """
        return x + rows(self.table, offset, offset + x.size(1))  # (B, T, D); step: position


class SinusoidalPositions(PositionalEncoding):
    """Fixed waves; nothing is trained or stored."""

    def __init__(self, *, max_length: int, d_model: int) -> None:
        super().__init__()
        self.register_buffer("waves", sinusoidal_table(max_length, d_model), persistent=False)

    @property
    def table(self) -> Tensor:
        return self.get_buffer("waves")


class LearnedPositions(PositionalEncoding):
    """A trained vector for each position."""

    def __init__(self, *, max_length: int, d_model: int) -> None:
        super().__init__()
        self.embedding = nn.Parameter(torch.randn(max_length, d_model) * d_model**-0.5)

    @property
    def table(self) -> Tensor:
        return self.embedding


class RotaryPositions(nn.Module):
    """Turns each pair of numbers of a query or key by its position times the rate of the pair.

    The product of a query and a key then depends on how far apart they are ("RoFormer", Su et al. 2021, section 3.2.2).
    The rates are those of the sinusoids. Nothing is trained or stored.
    """

    def __init__(self, *, max_length: int, width: int) -> None:
        super().__init__()
        self.register_buffer("waves", sinusoidal_table(max_length, width), persistent=False)

    @property
    def table(self) -> Tensor:
        """Sine and cosine of the angle of each pair, one row a position, (max_length, K)."""
        return self.get_buffer("waves")

    def forward(self, x: Tensor, *, offset: int = 0) -> Tensor:
        """Turn the vectors of positions `offset` … `offset + T - 1`, (B, H, T, K).

        Raises:
            ValueError: the table ends before the text does.
        """
        waves = rows(self.table, offset, offset + x.size(2)).to(x.dtype)  # (T, K)
        sine, cosine = waves.unflatten(-1, (-1, 2)).unbind(-1)  # (T, K/2)
        first, second = x.unflatten(-1, (-1, 2)).unbind(-1)  # (B, H, T, K/2)
        turned = first * cosine - second * sine, first * sine + second * cosine  # step: turn
        return torch.stack(turned, dim=-1).flatten(-2)  # (B, H, T, K)

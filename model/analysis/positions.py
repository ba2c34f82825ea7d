"""Properties of a positional encoding, computed from its table."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "Property",
    "distances",
    "dot_products",
    "encoding_properties",
    "rotation",
    "rotation_error",
    "wavelengths",
]

FloatArray = NDArray[np.float32]


def wavelengths(d_model: int, base: float) -> FloatArray:
    """The wavelength of each pair of dimensions, in positions: 2π · base^(2i / d_model), (d_model / 2,)."""
    return np.asarray(2 * np.pi * base ** (np.arange(0, d_model, 2) / d_model), dtype=np.float32)


def dot_products(table: FloatArray) -> FloatArray:
    """The dot product of every two positions, (P, D) → (P, P)."""
    return np.asarray(table @ table.T, dtype=np.float32)


def distances(table: FloatArray) -> FloatArray:
    """The Euclidean distance of every two positions, (P, D) → (P, P)."""
    wide = table.astype(np.float64)
    squares = (wide**2).sum(axis=1)
    return np.sqrt(np.maximum(squares[:, None] + squares[None, :] - 2 * wide @ wide.T, 0)).astype(np.float32)


def rotation(d_model: int, base: float, shift: int) -> FloatArray:
    """The matrix that maps the encoding of any position p to that of p + shift.

    Each pair (sin, cos) rotates by the angle shift · rate ("Attention Is All You Need", section 3.5).

    Args:
        d_model: D, even.
        base: Of the wavelengths; the paper uses 10,000.
        shift: In positions.

    Returns:
        (D, D); multiply it from the left with an encoding as a column.
    """
    angle = shift / base ** (np.arange(0, d_model, 2) / d_model)  # (D/2,)
    matrix = np.zeros((d_model, d_model))
    even = np.arange(0, d_model, 2)
    matrix[even, even] = matrix[even + 1, even + 1] = np.cos(angle)
    matrix[even, even + 1] = np.sin(angle)
    matrix[even + 1, even] = -np.sin(angle)
    return matrix.astype(np.float32)


def rotation_error(table: FloatArray, matrix: FloatArray, shift: int) -> float:
    """The largest difference between the rotated encoding of p and the encoding of p + shift, over all positions p."""
    return float(np.abs(table[: len(table) - shift] @ matrix.T - table[shift:]).max())


@dataclass(frozen=True, kw_only=True)
class Property:
    """One property of an encoding, with the number that decides it."""

    name: str
    holds: bool
    figure: float


def encoding_properties(table: FloatArray, *, has_formula: bool) -> tuple[Property, ...]:
    """Four properties of a good encoding, each with the number that decides it.

    Args:
        table: The vectors of all positions, (P, D).
        has_formula: Whether a formula gives positions beyond the table.

    Returns:
        "unique": no two positions have the same vector. The number is the smallest distance of two positions.
        "bounded": no value is larger than 1, like the values of an embedding. The number is the largest value.
        "consistent": positions p and p + k have the same distance for every p. The number is the largest relative
        difference of these distances, over all k.
        "extends": texts longer than the table have positions. The number is the last position, or infinity.
    """
    pairwise = distances(table)
    closest = float(pairwise[~np.eye(len(table), dtype=bool)].min())
    # Only a k with at least two pairs (p, p + k) can differ.
    by_offset = [np.diagonal(pairwise, k) for k in range(1, len(table) - 1)]
    spread = max(float(np.ptp(offset) / offset.mean()) for offset in by_offset)
    largest = float(np.abs(table).max())
    return (
        Property(name="unique", holds=closest > 1e-4, figure=closest),
        Property(name="bounded", holds=largest <= 1.0 + 1e-6, figure=largest),
        Property(name="consistent", holds=spread < 0.01, figure=spread),
        Property(name="extends", holds=has_formula, figure=np.inf if has_formula else len(table) - 1.0),
    )

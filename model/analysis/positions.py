"""What makes a positional encoding a good one, computed: arrays in, arrays and figures out."""

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
    """Positions until the wave of each pair of dimensions repeats: 2π · base^(2i / d_model), (d_model / 2,)."""
    return np.asarray(2 * np.pi * base ** (np.arange(0, d_model, 2) / d_model), dtype=np.float32)


def dot_products(table: FloatArray) -> FloatArray:
    """Product of every two positions, (P, D) → (P, P)."""
    return np.asarray(table @ table.T, dtype=np.float32)


def distances(table: FloatArray) -> FloatArray:
    """Euclidean distance of every two positions, (P, D) → (P, P)."""
    wide = table.astype(np.float64)
    squares = (wide**2).sum(axis=1)
    return np.sqrt(np.maximum(squares[:, None] + squares[None, :] - 2 * wide @ wide.T, 0)).astype(np.float32)


def rotation(d_model: int, base: float, shift: int) -> FloatArray:
    """The one matrix that takes the encoding of any position p to that of p + shift ("Attention …", section 3.5).

    Each pair (sin, cos) turns by the angle shift · rate, so the matrix is a rotation in each plane and nothing else.

    Returns:
        (D, D), to be multiplied from the left to an encoding as a column.
    """
    angle = shift / base ** (np.arange(0, d_model, 2) / d_model)  # (D/2,)
    matrix = np.zeros((d_model, d_model))
    even = np.arange(0, d_model, 2)
    matrix[even, even] = matrix[even + 1, even + 1] = np.cos(angle)
    matrix[even, even + 1] = np.sin(angle)
    matrix[even + 1, even] = -np.sin(angle)
    return matrix.astype(np.float32)


def rotation_error(table: FloatArray, matrix: FloatArray, shift: int) -> float:
    """The largest difference between the rotated encoding of a position p and that of p + shift, over all p."""
    return float(np.abs(table[: len(table) - shift] @ matrix.T - table[shift:]).max())


@dataclass(frozen=True, kw_only=True)
class Property:
    """One property of an encoding, with the figure that decides it."""

    name: str
    holds: bool
    figure: float


def encoding_properties(table: FloatArray, *, has_formula: bool) -> tuple[Property, ...]:
    """Four things that one wishes of an encoding (P, D), each decided by a figure.

    Args:
        table: The vectors of all positions.
        has_formula: Positions beyond the table can be computed.

    Returns:
        "unique", no two positions have the same vector: the smallest distance of two;
        "bounded", no value is beyond 1, the spread of an embedding: the largest value;
        "consistent", a step of k positions is equally far everywhere: by what share the distances of one k differ;
        "extends", longer texts than in training have positions too: the last position there is, or infinity.
    """
    apart = distances(table)
    closest = float(apart[~np.eye(len(table), dtype=bool)].min())
    # The steps from p to p + k, for every k that has at least two of them.
    spread = max(float(np.ptp(np.diagonal(apart, k)) / np.diagonal(apart, k).mean()) for k in range(1, len(table) - 1))
    largest = float(np.abs(table).max())
    return (
        Property(name="unique", holds=closest > 1e-4, figure=closest),
        Property(name="bounded", holds=largest <= 1.0 + 1e-6, figure=largest),
        Property(name="consistent", holds=spread < 0.01, figure=spread),
        Property(name="extends", holds=has_formula, figure=np.inf if has_formula else len(table) - 1.0),
    )

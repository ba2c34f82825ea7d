"""What positions do: properties of a positional encoding, the input of an encoder, scores and weights by distance."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from model.analysis.followed import Followed
from model.checkpoints.checkpoint import Loaded
from model.inference.passes import record_again
from model.network.attention import MultiHeadAttention
from model.network.own_model import OwnModel
from model.network.positional import sinusoidal_table
from model.network.scores import attention_scores

__all__ = [
    "Property",
    "distances",
    "dot_products",
    "encoder_input",
    "encoding_properties",
    "rotation",
    "rotation_error",
    "score_by_distance",
    "scores_by_distance",
    "sinusoids",
    "wavelengths",
    "weight_by_distance",
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


def sinusoids(length: int, d_model: int, base: float) -> FloatArray:
    """The `sinusoidal_table` as an array, (length, d_model)."""
    table: FloatArray = sinusoidal_table(length, d_model, base=base).numpy()
    return table


def encoder_input(text: Followed) -> tuple[FloatArray, FloatArray]:
    """The scaled embeddings of our own encoder (S, D), and their sum with the positions, over the text of a run."""
    names = ("encoder.embedding.token_vectors", "encoder.embedding.sum")
    recording = record_again(text.model, text.result, names)
    return recording.array(names[0]), recording.array(names[1])


def scores_by_distance(checkpoint: Loaded, layer: int, reach: int, stack: str = "encoder") -> FloatArray:
    """`score_by_distance` in the self-attention of a layer of our own model."""
    assert isinstance(checkpoint.model, OwnModel)
    attention = checkpoint.model.get_submodule(f"{stack}.layers.{layer}.self_attention")
    assert isinstance(attention, MultiHeadAttention)
    return score_by_distance(attention, reach)


@torch.inference_mode()
def score_by_distance(attention: MultiHeadAttention, reach: int) -> FloatArray:
    """The part of the scores that is the same for all words.

    With rotary positions: before the rotation, a query is W x + b and a key is W' y + b'. One term of their product,
    b · b', depends on no word. After the rotation it depends only on the distance ("RoFormer", Su et al. 2021, equation
    16). Where a layer adds a number for each distance (ALiBi, T5), it is that number.

    Args:
        attention: With at least 2 · reach + 1 positions, if they are rotary.
        reach: The largest distance, in tokens.

    Returns:
        (H, 2 · reach + 1): from the key `reach` tokens before the query to the key `reach` tokens after it.

    Raises:
        ValueError: the model has fewer positions.
    """
    added = attention.positions.bias(1, 2 * reach + 1, offset=reach)  # (1, H, 1, T)
    if added is not None:
        return added[0, :, 0].cpu().numpy()

    def turned(projection: nn.Linear) -> torch.Tensor:
        bias = projection.bias.expand(1, 2 * reach + 1, -1)  # (1, T, D)
        return attention.positions.rotate(attention.split_heads(bias))  # (1, H, T, K)

    queries, keys = turned(attention.query_projection), turned(attention.key_projection)
    keys = attention.for_each_head(keys)
    scores = attention_scores(queries[:, :, [reach]], keys, cap=attention.score_cap)  # (1, H, 1, T)
    return scores[0, :, 0].cpu().numpy()


def weight_by_distance(maps: FloatArray, reach: int) -> FloatArray:
    """The mean weight of the key at each distance, over all queries with a key there.

    Args:
        maps: Of self-attention, (…, S, S).
        reach: The largest distance, in tokens; smaller than S.

    Returns:
        (…, 2 · reach + 1): from the key `reach` tokens before the query to the key `reach` tokens after it.
    """
    distances = range(-reach, reach + 1)
    means = [np.diagonal(maps, distance, axis1=-2, axis2=-1).mean(axis=-1) for distance in distances]
    return np.stack(means, axis=-1).astype(np.float32)

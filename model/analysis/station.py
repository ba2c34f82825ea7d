"""A station: one part of the model on a token's way, with its steps, their numbers and the code that computes them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from model.analysis.source_code import CodeLine
from model.analysis.streams import FloatArray
from model.checkpoints.checkpoint import Checkpoint
from model.config.section import ConfigError
from model.inference.translation import Recording
from model.network.transformer import Transformer

__all__ = [
    "Station",
    "Step",
    "format_length",
    "head_matrices",
    "largest_difference",
    "linear_norm",
    "mean_and_variance",
    "output_rows",
    "recorded_at",
    "require_transformer",
    "to_float32",
    "to_float64",
]


@dataclass(frozen=True, kw_only=True)
class Step:
    """One operation of a station."""

    name: str  # the same as in the comment `# step: …` beside the line that computes it
    formula: str
    numbers: NDArray[np.float32]  # (R, C), the result; one row per head where there are heads
    rows: str = ""  # what the rows are, where there are several
    shares: bool = False  # the numbers lie between 0 and 1
    facts: tuple[tuple[str, str], ...] = ()  # (name, number as text)


@dataclass(frozen=True, kw_only=True)
class Station:
    """A part of the model, with the vector that a token has after it."""

    name: str
    formula: str  # LaTeX
    vector: NDArray[np.float32]  # (D,), computed here from what the model had before this part
    difference: float  # the largest difference of a step from the model's own tensor
    steps: tuple[Step, ...] = ()
    code: tuple[tuple[CodeLine, ...], ...] = ()  # the functions that compute the steps


def recorded_at(recording: Recording, name: str, position: int) -> FloatArray:
    """What passed the hook point `name` at one position, (…, D), in double precision."""
    return recording.array(name)[..., position, :].astype(np.float64)


def to_float64(tensor: torch.Tensor) -> FloatArray:
    """A tensor of the model as an array in double precision, for computing."""
    return tensor.detach().cpu().double().numpy()


def to_float32(array: FloatArray) -> NDArray[np.float32]:
    """An array in single precision, for showing."""
    return array.astype(np.float32)


def largest_difference(ours: FloatArray, models: FloatArray) -> float:
    """The largest absolute difference of two arrays. Two infinities with the same sign do not differ."""
    return float(np.abs(np.where(ours == models, 0.0, ours - models)).max())


def mean_and_variance(x: FloatArray) -> tuple[tuple[str, str], ...]:
    """Both as facts of a `Step`."""
    return (("mean", f"{x.mean():.4f}"), ("variance", f"{x.var():.4f}"))


def format_length(x: FloatArray) -> str:
    """The Euclidean length of a vector, as text."""
    return f"{np.linalg.norm(x):.3f}"


def require_transformer(checkpoint: Checkpoint) -> Transformer:
    """The model of a checkpoint, if it is one of our Transformers, which record their residual stream.

    Raises:
        ConfigError: it is a recurrent network or a model from another library.
    """
    if not isinstance(checkpoint.model, Transformer):
        raise ConfigError(
            f"{checkpoint.name} is not one of Headlight's own Transformers. Only in those can this analysis follow the "
            "vectors through the layers. Choose another checkpoint."
        )
    return checkpoint.model


def linear_norm(norm: nn.Module, x: FloatArray, parts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Apply a LayerNorm to the parts of its input. With the standard deviation fixed at that of `x`, it is linear.

    Args:
        norm: An `nn.LayerNorm`; any other module changes nothing.
        x: Its input in the model, (…, D).
        parts: Vectors that add up to `x`, (N, …, D).

    Returns:
        The parts after the norm (N, …, D), and its shift (D,), which belongs to no part.
    """
    if not isinstance(norm, nn.LayerNorm):
        return parts, np.zeros(x.shape[-1])
    scale, shift = (p.detach().cpu().double().numpy() for p in (norm.weight, norm.bias))
    deviation = np.sqrt(x.var(axis=-1, keepdims=True) + norm.eps)  # (…, 1)
    centred = parts - parts.mean(axis=-1, keepdims=True)
    return centred / deviation * scale, shift


def head_matrices(model: Transformer, kind: str, layer: int) -> tuple[FloatArray, FloatArray]:
    """The output projection W_O, split by head (H, K, D), and its bias (D,)."""
    mixing = model.mixing(kind, layer)
    matrix = mixing.matrix.cpu().double().numpy()  # (H·K, D)
    heads = model.config.num_heads
    return matrix.reshape(heads, -1, matrix.shape[1]), mixing.bias.cpu().double().numpy()


def output_rows(model: Transformer, ids: Sequence[int] | slice = slice(None)) -> tuple[FloatArray, FloatArray]:
    """Rows of the projection from the last vector to logits, (N, D), and their biases, (N,).

    Only the models of some tutorials have these biases; in all others they are 0.

    Args:
        model: The Transformer.
        ids: The target ids of the rows; by default all.
    """
    weight, bias = model.output_projection.weight[ids], model.output_projection.bias
    rows = weight.detach().cpu().double().numpy()
    return rows, np.zeros(len(rows)) if bias is None else bias[ids].detach().cpu().double().numpy()

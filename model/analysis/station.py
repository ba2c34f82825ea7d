"""A station: one part of the model on a token's way, with its steps, their numbers and the code that computes them."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from model.analysis.source_code import CodeLine
from model.analysis.streams import FloatArray
from model.inference.translation import Recording

__all__ = [
    "Station",
    "Step",
    "format_length",
    "largest_difference",
    "mean_and_variance",
    "recorded_at",
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

"""A part of the model on a token's way through it, as operations with their numbers and the code that computes them."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from model.analysis.source_code import CodeLine
from model.analysis.streams import FloatArray
from model.inference.translation import Recording

__all__ = ["Station", "Step", "at", "length", "moments", "numbers", "off", "single"]


@dataclass(frozen=True, kw_only=True)
class Step:
    """One operation of a station."""

    name: str  # as the line of code that computes it says
    formula: str
    numbers: NDArray[np.float32]  # (R, C): what it makes, a row for each head where there are heads
    rows: str = ""  # what the rows are, where there are several
    shares: bool = False  # they lie between 0 and 1
    facts: tuple[tuple[str, str], ...] = ()  # name and number, as text


@dataclass(frozen=True, kw_only=True)
class Station:
    """What a token's vector is after one part of the model."""

    name: str
    formula: str  # LaTeX
    vector: NDArray[np.float32]  # (D,), computed here from what the model had before this part
    difference: float  # the largest of its steps from the model's own
    steps: tuple[Step, ...] = ()
    code: tuple[tuple[CodeLine, ...], ...] = ()  # functions that compute them


def at(recording: Recording, name: str, place: int) -> FloatArray:
    return recording.array(name)[..., place, :].astype(np.float64)


def numbers(tensor: torch.Tensor) -> FloatArray:
    return tensor.detach().cpu().double().numpy()


def single(array: FloatArray) -> NDArray[np.float32]:
    return array.astype(np.float32)


def off(found: FloatArray, own: FloatArray) -> float:
    """The largest difference; where both are minus infinity there is none."""
    return float(np.abs(np.where(found == own, 0.0, found - own)).max())


def moments(x: FloatArray) -> tuple[tuple[str, str], ...]:
    return (("mean", f"{x.mean():.4f}"), ("variance", f"{x.var():.4f}"))


def length(x: FloatArray) -> str:
    return f"{np.linalg.norm(x):.3f}"

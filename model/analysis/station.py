"""A station: one part of the model on a token's way, with its steps, their numbers and the code that computes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from model.analysis.source_code import CodeLine, function_code
from model.analysis.streams import FloatArray, Recorded
from model.inference.translation import AttentionMaps, Translation
from model.messages import N_
from model.network.protocols import Reads
from model.network.residual_stream import Code, Norm, ReadoutStep

__all__ = [
    "Followed",
    "Station",
    "Step",
    "apply",
    "code_lines",
    "follow",
    "format_length",
    "largest_difference",
    "mean_and_variance",
    "norm_formula",
    "norm_step",
    "to_float32",
    "to_float64",
]


@dataclass(frozen=True, kw_only=True)
class Step:
    """One operation of a station."""

    name: str  # marked for translation; the same as in the comment `# step: …` beside the line that computes it
    formula: str  # plain text
    numbers: NDArray[np.float32]  # (R, C), the result; one row per head where there are heads
    rows: str = ""  # what the rows are, where there are several
    shares: bool = False  # the numbers lie between 0 and 1
    facts: tuple[tuple[str, str], ...] = ()  # (name, value), each a `Message`, or a text that may be marked


@dataclass(frozen=True, kw_only=True)
class Station:
    """A part of the model, with the vector that a token has after it."""

    name: str  # a `Message`, or marked for translation
    formula: str  # LaTeX
    vector: NDArray[np.float32]  # (D,), computed here from what the model had before this part
    difference: float  # the largest difference of a step from the model's own tensor
    steps: tuple[Step, ...] = ()
    code: tuple[tuple[CodeLine, ...], ...] = ()  # the functions that compute the steps


@dataclass(frozen=True, kw_only=True, eq=False)
class Followed:
    """A text that a model read or wrote, with what its run recorded."""

    model: Reads  # it does not run
    recording: Recorded
    maps: AttentionMaps
    ids: Mapping[str, Sequence[int]]  # stack → the token ids that it read
    keys: Mapping[str, Sequence[str]]  # kind of attention → the tokens that it attends to

    def at(self, name: str, position: int) -> FloatArray:
        """What passed a hook point at one position, (…, D), in double precision.

        Raises:
            KeyError: the hook point was not recorded.
        """
        return self.recording.array(name)[..., position, :].astype(np.float64)

    def difference(self, name: str, position: int, ours: FloatArray) -> float:
        """The largest difference of a computed vector from the recorded one; 0 where no hook point records it."""
        try:
            return largest_difference(ours, self.at(name, position))
        except KeyError:
            return 0.0


def follow(model: Reads, translation: Translation, recording: Recorded) -> Followed:
    """What a model of any task did with a text. The result has its maps."""
    return Followed(
        model=model,
        recording=recording,
        maps=translation.maps,
        ids={
            "encoder": [token.id for token in translation.source],
            "decoder": [token.id for token in translation.read],
        },
        keys={kind: [token.label for token in translation.tokens_of(kind)[1]] for kind in translation.maps},
    )


def apply(step: ReadoutStep | None, x: FloatArray) -> FloatArray:
    """A step of the model in double precision; None is the identity."""
    return x if step is None else np.asarray(step(torch.from_numpy(x)).numpy())


def norm_formula(norm: Norm, x: str) -> str:
    """A norm of a vector in LaTeX."""
    if norm.centred:
        return rf"\gamma\,\frac{{{x} - \mu}}{{\sigma}} + \beta"
    return rf"\gamma\,\frac{{{x}}}{{\mathrm{{rms}}({x})}}"


def norm_step(name: str, norm: Norm, x: FloatArray, output: FloatArray) -> Step:
    """A norm as a step, from `x` (D,) to `output` (D,)."""
    length = (N_("length"), format_length(output))
    rms = (("rms", f"{np.sqrt(np.square(x).mean()):.4f}"),)
    facts = (("μ", f"{x.mean():.4f}"), ("σ²", f"{x.var():.4f}")) if norm.centred else rms
    formula = "γ (x − μ) / σ + β" if norm.centred else "γ x / rms(x)"
    return Step(name=name, formula=formula, numbers=to_float32(output)[None], facts=(*facts, length))


def code_lines(functions: Code) -> tuple[tuple[CodeLine, ...], ...]:
    """The source of functions, without those that have none."""
    return tuple(lines for function in functions if (lines := function_code(function)))


def to_float64(tensor: torch.Tensor) -> FloatArray:
    """A tensor of the model as an array in double precision, for computing."""
    return tensor.detach().cpu().double().numpy()


def to_float32(array: NDArray[np.floating]) -> NDArray[np.float32]:
    """An array in single precision, for showing."""
    return array.astype(np.float32)


def largest_difference(ours: NDArray[np.floating], models: NDArray[np.floating]) -> float:
    """The largest absolute difference of two arrays. Two numbers that are not finite do not differ."""
    same = (ours == models) | ~(np.isfinite(ours) | np.isfinite(models))
    return float(np.abs(np.where(same, 0.0, ours - models)).max())


def mean_and_variance(x: FloatArray) -> tuple[tuple[str, str], ...]:
    """Both as facts of a `Step`."""
    return ((N_("mean"), f"{x.mean():.4f}"), (N_("variance"), f"{x.var():.4f}"))


def format_length(x: FloatArray) -> str:
    """The Euclidean length of a vector, as text."""
    return f"{np.linalg.norm(x):.3f}"

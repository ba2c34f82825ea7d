"""A station: one part of the model on a token's way, with its steps, their numbers and the code that computes them.

A line of `model/network/` that computes a step ends with a comment such as `# step: scores`. Functions of other
libraries have no such comments.
"""

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import torch
from numpy.typing import NDArray

from model.analysis.streams import FloatArray
from model.messages import N_
from model.network.residual_stream import Code, Norm, ReadoutStep

__all__ = [
    "CodeLine",
    "Facts",
    "Station",
    "Step",
    "apply",
    "code_lines",
    "function_code",
    "length_of",
    "make_station",
    "norm_formula",
    "norm_step",
    "vector_step",
]

MARK = re.compile(r"#.*\bstep: ([\w √-]+)$")
Facts = tuple[tuple[str, str], ...]  # (name, value), each a `Message`, or a text that may be marked


@dataclass(frozen=True)
class CodeLine:
    """A line of a function."""

    text: str
    step: str = ""  # the step that it computes, or ""


@dataclass(frozen=True, kw_only=True)
class Step:
    """One operation of a station."""

    name: str  # marked for translation; the same as in the comment `# step: …` beside the line that computes it
    formula: str  # plain text
    numbers: NDArray[np.float32]  # (R, C), the result; one row per head where there are heads
    rows: str = ""  # what the rows are, where there are several
    shares: bool = False  # the numbers lie between 0 and 1
    facts: Facts = ()


@dataclass(frozen=True, kw_only=True)
class Station:
    """A part of the model, with the vector that a token has after it."""

    name: str  # a `Message`, or marked for translation
    formula: str  # LaTeX
    vector: NDArray[np.float32]  # (D,), computed here from what the model had before this part
    difference: float  # the largest difference of a step from the model's own tensor
    steps: tuple[Step, ...] = ()
    code: tuple[tuple[CodeLine, ...], ...] = ()  # the functions that compute the steps


def make_station(
    name: str, formula: str, x: FloatArray, steps: Iterable[Step] = (), *, difference: float = 0.0, code: Code = ()
) -> Station:
    """A station with the vector `x` (D,) after it."""
    return Station(
        name=name,
        formula=formula,
        vector=x.astype(np.float32),
        difference=difference,
        steps=tuple(steps),
        code=code_lines(code),
    )


def vector_step(name: str, formula: str, x: FloatArray, facts: Facts = ()) -> Step:
    """A step whose result is one vector, (N,)."""
    return Step(name=name, formula=formula, numbers=x.astype(np.float32)[None], facts=facts)


def norm_step(name: str, norm: Norm, x: FloatArray, output: FloatArray) -> Step:
    """A norm as a step, from `x` (D,) to `output` (D,)."""
    rms = (("rms", f"{np.sqrt(np.square(x).mean()):.4f}"),)
    facts = (("μ", f"{x.mean():.4f}"), ("σ²", f"{x.var():.4f}")) if norm.centred else rms
    return vector_step(
        name, "γ (x − μ) / σ + β" if norm.centred else "γ x / rms(x)", output, (*facts, length_of(output))
    )


def norm_formula(norm: Norm, x: str) -> str:
    """A norm of a vector in LaTeX."""
    if norm.centred:
        return rf"\gamma\,\frac{{{x} - \mu}}{{\sigma}} + \beta"
    return rf"\gamma\,\frac{{{x}}}{{\mathrm{{rms}}({x})}}"


def length_of(x: FloatArray, name: str = N_("length")) -> tuple[str, str]:
    """The Euclidean length of a vector as a fact."""
    return name, f"{np.linalg.norm(x):.3f}"


def apply(step: ReadoutStep | None, x: FloatArray) -> FloatArray:
    """A step of the model in double precision; None is the identity."""
    return x if step is None else np.asarray(step(torch.from_numpy(x)).numpy())


def code_lines(functions: Sequence[Callable[..., object]]) -> tuple[tuple[CodeLine, ...], ...]:
    """The source of functions, without those that have none."""
    return tuple(lines for function in functions if (lines := function_code(function)))


@lru_cache(maxsize=256)  # functions; parsing their source again would take 8 % of a page
def function_code(function: Callable[..., object]) -> tuple[CodeLine, ...]:
    """The source of a function without its docstring; empty if its file has no source."""
    try:
        source = textwrap.dedent(inspect.getsource(function))
    except OSError:
        return ()
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.FunctionDef)
    first = definition.body[0]
    lines = source.splitlines()
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        del lines[first.lineno - 1 : first.end_lineno]
    return tuple(CodeLine(line, found[1] if (found := MARK.search(line)) else "") for line in lines)

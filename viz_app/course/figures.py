"""Figures that take too long for one run: measured once on bundled checkpoints, with the hash of their weights.

`python -m tools.lesson_figures` measures them again.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

__all__ = ["FIGURES", "figures_of", "measured_on"]

FIGURES = Path(__file__).parent / "figures.json"


@cache
def read() -> Mapping[str, Mapping[str, Mapping[str, int | float]]]:
    found: Mapping[str, Mapping[str, Mapping[str, int | float]]] = json.loads(FIGURES.read_text(encoding="utf-8"))
    return found


def figures_of(lesson: str) -> Mapping[str, int | float]:
    """The measured figures of a lesson, by the names that its texts use."""
    return read()["figures"][lesson]


def measured_on() -> Mapping[str, object]:
    """Name of a checkpoint → the SHA-256 of the weights that were measured."""
    return read()["weights"]

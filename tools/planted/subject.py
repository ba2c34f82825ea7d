"""A planted model with its runs, and the grade of scores."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from model.analysis.followed import Followed, follow
from model.analysis.importance import all_heads
from model.inference.opening import AnyCheckpoint, open_checkpoint
from model.inference.run import Outcome, Run
from model.interventions import Head
from tools.planted.folders import write_folder
from tools.planted.models import MODELS
from tools.planted.parts import Plan
from tools.planted.truth import Truth

__all__ = ["Array", "Subject", "auroc", "word_places", "words_of"]

Array = NDArray[Any]


@dataclass(frozen=True, kw_only=True, eq=False)
class Subject:
    """A planted model, and its runs over the texts of its examples, each followed by its donor."""

    plan: Plan
    truth: Truth
    checkpoint: AnyCheckpoint
    runs: tuple[Followed, ...]

    @classmethod
    def of(cls, name: str, folder: Path) -> "Subject":
        """Write a planted model into a folder, open it, and run it."""
        truth, checkpoint = write_folder(name, folder), open_checkpoint(folder)
        texts = [text for one in truth.examples for text in (one.text, one.donor)]
        runs = tuple(follow(checkpoint, Run(text=text)) for text in texts)
        return cls(plan=MODELS[name], truth=truth, checkpoint=checkpoint, runs=runs)

    @cached_property
    def heads(self) -> list[Head]:
        return all_heads(self.checkpoint.model)

    @cached_property
    def matter(self) -> frozenset[Head]:
        """The heads in the smallest sets whose silencing changes outcomes."""
        return frozenset(head for cut in self.truth.cuts for head in cut)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """The texts as importance reads them. A language model also reads the right next word."""
        right = self.plan.answer if self.plan.task == "continuation" else lambda words: []
        return tuple((" ".join([*words, *right(words)]), "") for words in map(words_of, self.runs))

    @property
    def both_ways(self) -> list[tuple[Followed, Followed]]:
        """Donors and the runs that are patched."""
        couples = zip(self.runs[::2], self.runs[1::2], strict=True)
        return [pair for one, other in couples for pair in ((one, other), (other, one))]

    def outcomes(self, run: Followed) -> list[Outcome]:
        """What the truth is about: the written words, the first word after a text, or the label."""
        found = [one for one in run.result.outcomes if (one.position or 0) >= run.result.prompt_length]
        return found[:1] if self.plan.task == "continuation" else found


def word_places(run: Followed) -> list[int]:
    """The places of the words among the tokens. A language model reads as many as leave half of its positions free."""
    read = run.result.source or run.result.read[: run.result.prompt_length + 1]
    return [i for i, token in enumerate(read) if not token.special]


def words_of(run: Followed) -> list[str]:
    """The words that the model read."""
    return [(run.result.source or run.result.read)[i].text for i in word_places(run)]


def auroc(scores: Array, matter: Array, *, least: float = 0.0) -> float:
    """How often one that matters has a larger score than one that does not.

    Args:
        scores: (N,).
        matter: (N,), some True and some False.
        least: Scores that differ by less are equal, and count half.
    """
    gaps = scores[matter][:, None] - scores[~matter]
    return float(np.where(np.abs(gaps) <= least, 0.5, gaps > 0).mean())

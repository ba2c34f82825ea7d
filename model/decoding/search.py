"""What every search is made of: its steps, its hypotheses, and `finish`, which runs it to its end."""

from collections.abc import Generator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeVar

import torch
from torch import Tensor

__all__ = ["Branch", "Fate", "Hypothesis", "Search", "Step", "finish"]

NUM_CANDIDATES = 10
Search = Generator["Step", None, list["Hypothesis"]]
Result = TypeVar("Result")
Fate = Literal["kept", "ended", "cut", "pruned"]  # cut: stopped by the length limit


@dataclass(frozen=True, kw_only=True)
class Branch:
    """One continuation that beam search compared in a pass. The kept ones, in order, are the rows of the next pass."""

    sentence: int
    row: int  # of the prefix that it continues
    token: int
    log_prob: float  # of the whole hypothesis
    total: float  # by which the search ranks it; see `Hypothesis.total`
    fate: Fate


@dataclass(frozen=True, kw_only=True)
class Step:
    """The distributions of one pass of the decoder, one for each batch row R.

    The log-probabilities are the model's own, over the whole vocabulary, with banned ids and before its rules. The
    properties are computed at their first use, so a translation without a viewer costs nothing extra.
    """

    distribution: Tensor  # (R, V), natural logarithms
    fixed: bool = False  # the model chose nothing: each text has this token, see `Specials.first`
    branches: tuple[Branch, ...] = ()  # of beam search

    def log_prob(self, row: int, token: int) -> float:
        """The log-probability of a token of the pass; 0 where the model chose nothing."""
        return 0.0 if self.fixed else float(self.distribution[row, token])

    @cached_property
    def _best(self) -> tuple[Tensor, Tensor]:
        values, ids = self.distribution.topk(min(NUM_CANDIDATES, self.distribution.size(-1)))
        return values.cpu(), ids.cpu()

    @property
    def ids(self) -> Tensor:
        """The ten best candidates, best first, (R, N)."""
        return self._best[1]

    @property
    def log_probs(self) -> Tensor:
        """The log-probabilities of these candidates, (R, N)."""
        return self._best[0]

    @cached_property
    def entropy(self) -> Tensor:
        """The entropy of each distribution, (R,), in nats: how uncertain the model was."""
        return torch.special.entr(self.distribution.exp()).sum(dim=-1).cpu()


@dataclass(frozen=True, kw_only=True)
class Hypothesis:
    """One translation. Each tuple has one entry per written token, and one for `</s>` where the model reached it."""

    ids: tuple[int, ...] = ()
    log_probs: tuple[float, ...] = ()  # natural logarithms of the model's own probabilities; 0 for `Specials.first`
    total: float = 0.0  # the sum of these after the prompt, with the changes of the model's rules; for beam search
    rows: tuple[int, ...] = ()  # the batch row that computed the token in each pass
    finished: bool = False  # it ended by itself, not at the length limit
    prompt_length: int = 0  # how many of the first tokens are a prompt, which no search chose

    @property
    def log_prob(self) -> float:
        """The log-probability of all tokens after the prompt."""
        return sum(self.log_probs[self.prompt_length :])

    def score(self, length_penalty: float) -> float:
        """`total` / length^penalty, for ranking. 0 favours short texts; 1 ranks by the mean per token.

        A prompt counts neither in the sum nor in the length.
        """
        return self.total / max(len(self.ids) - self.prompt_length, 1) ** length_penalty

    def extended(self, *, token: int, log_prob: float, score: float, row: int, finished: bool) -> "Hypothesis":
        """The hypothesis with one more token.

        Args:
            token: Its id.
            log_prob: The model's own.
            score: The log-probability with the changes of the model's rules.
            row: The batch row that computed it.
            finished: Whether the token ends the text.
        """
        return Hypothesis(
            ids=(*self.ids, token),
            log_probs=(*self.log_probs, log_prob),
            total=self.total + score if len(self.ids) >= self.prompt_length else 0.0,
            rows=(*self.rows, row),
            finished=finished,
            prompt_length=self.prompt_length,
        )


def finish(search: Generator[Step, None, Result], *, keep_steps: bool = True) -> tuple[list[Step], Result]:
    """Run a search to its end.

    Args:
        search: A search that has not started.
        keep_steps: Keep the steps. Each holds a whole distribution, so a caller who needs only the result saves memory.

    Returns:
        The steps, and the result of the search.
    """
    steps: list[Step] = []
    while True:
        try:
            step = next(search)
        except StopIteration as stop:
            return steps, stop.value
        if keep_steps:
            steps.append(step)

"""The settings of greedy search, beam search and sampling."""

from dataclasses import dataclass
from typing import Literal

from model.config.section import Section, require, require_seed

__all__ = ["EarlyStopping", "SearchConfig"]

EarlyStopping = Literal["always", "unlikely", "never"]


@dataclass(frozen=True, kw_only=True)
class SearchConfig(Section):
    """How tokens are chosen. `beam` uses the next three settings, `sample` the others, and `greedy` none."""

    method: Literal["greedy", "beam", "sample"] = "greedy"
    beam_size: int = 5
    length_penalty: float = 1.0  # see `Hypothesis.score`
    early_stopping: EarlyStopping = "always"  # see `beam`
    temperature: float = 1.0  # this and the next two: see `filter_log_probs`
    top_k: int = 0  # 0: all tokens
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("beam_size")
        # Outside this range, 32-bit log-probabilities divided by the temperature may be infinite or NaN.
        require(
            0.001 <= self.temperature <= 1000,
            "temperature is {temperature}; it must be from 0.001 (almost greedy) to 1000 (almost uniform).",
            temperature=self.temperature,
        )
        require(self.top_k >= 0, "top_k is {top_k}; it must be at least 1, or 0 for all tokens.", top_k=self.top_k)
        require(0 < self.top_p <= 1, "top_p is {top_p}; it must be above 0 and at most 1.", top_p=self.top_p)
        require(
            -10 <= self.length_penalty <= 10,
            "length_penalty is {length_penalty}; it must be from -10 to 10. With 1, the best mean "
            "log-probability per token wins.",
            length_penalty=self.length_penalty,
        )
        require_seed(self.seed)

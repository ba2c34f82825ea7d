"""The settings of greedy search, beam search and sampling, and those that the folder of a model suggests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from model.config.section import Section, require, require_seed

__all__ = ["GREEDY", "EarlyStopping", "GenerationSettings", "SearchConfig"]

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
            **self.shown,
        )
        require(self.top_k >= 0, "top_k is {top_k}; it must be at least 1, or 0 for all tokens.", **self.shown)
        require(0 < self.top_p <= 1, "top_p is {top_p}; it must be above 0 and at most 1.", **self.shown)
        require(
            -10 <= self.length_penalty <= 10,
            "length_penalty is {length_penalty}; it must be from -10 to 10. With 1, the best mean "
            "log-probability per token wins.",
            **self.shown,
        )
        require_seed(self.seed)


GREEDY = SearchConfig()


@dataclass(frozen=True, kw_only=True)
class GenerationSettings:
    """The settings that `generate` of `transformers` obeys, where they differ from their default, by name."""

    followed: Mapping[str, object] = field(default_factory=dict)  # by every search
    suggested: Mapping[str, object] = field(default_factory=dict)  # a search that the visitor may choose
    ignored: Mapping[str, object] = field(default_factory=dict)  # only `generate` obeys them
    num_beams: int = 1
    length_penalty: float = 1.0
    early_stopping: EarlyStopping = "unlikely"

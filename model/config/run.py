"""The settings of one training run, and the names of the corpora that it reads."""

import re
from dataclasses import dataclass
from typing import Literal

from model.config.section import Section, require, require_seed

__all__ = ["CorpusName", "TrainConfig"]

DISTILLED = "-distilled"
VARIED, BACK = re.compile(r"-varied-[a-z]+$"), re.compile(r"-back-[a-z]+$")


@dataclass(frozen=True)
class CorpusName:
    """One corpus by the name of its folder.

    `python -m weights` makes new corpora from old ones and adds to the name: `multi30k-distilled`, `multi30k-varied-en`
    for a model that reads English, and `multi30k-back-zh` with sources that were translated back into Chinese.
    """

    name: str

    @classmethod
    def all_in(cls, joined: str) -> tuple["CorpusName", ...]:
        """The corpora of a recipe, whose names are joined by `+`."""
        return tuple(map(cls, joined.split("+")))

    def distilled(self) -> "CorpusName":
        return CorpusName(self.name + DISTILLED)

    def varied_for(self, language: str) -> "CorpusName":
        """Varied for a model that reads this language."""
        return CorpusName(f"{self.name}-varied-{language}")

    def back_translated_into(self, language: str) -> "CorpusName":
        return CorpusName(f"{self.name}-back-{language}")

    @property
    def is_distilled(self) -> bool:
        return self.name.endswith(DISTILLED)

    @property
    def is_back_translated(self) -> bool:
        """Such a corpus has only a training part. Its origin may be in one language, so nothing can be tested on it."""
        return bool(BACK.search(self.name))

    @property
    def before_distilling(self) -> "CorpusName":
        return CorpusName(self.name.removesuffix(DISTILLED))

    @property
    def before_varying(self) -> "CorpusName":
        """A varied corpus has only a training part. Its validation and test parts are those of this corpus."""
        return CorpusName(VARIED.sub("", self.name))

    @property
    def original(self) -> "CorpusName":
        """The corpus from which a distilled or varied corpus was made."""
        return self.before_distilling.before_varying


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Section):
    """How a model is trained."""

    corpus: str  # one name, or several joined by +
    pretrain_corpus: str = ""  # used instead in the first epochs; the vocabulary is learned on it
    pretrain_epochs: int = 0
    batch_tokens: int = 2560  # in the longer side of a batch, with padding
    max_epochs: int = 40
    max_steps: int = 100_000
    learning_rate: float = 1e-3
    warmup_steps: int = 800
    cooldown_steps: int = 0  # the last steps, in which the learning rate falls to 0; 0 for no cooldown
    adam_beta1: float = 0.9
    adam_beta2: float = 0.98
    label_smoothing: float = 0.1
    bpe_dropout: float = 0.0  # above 0, each epoch splits words differently; the batches stay the same
    word_dropout: float = 0.0  # share of a classifier's words that are replaced by the unknown token, new in each epoch
    fill_gaps: bool = False  # learn to predict the replaced words instead of the labels, as a start for a classifier
    attention_rate: float = 1.0  # factor for the learning rate of self-attention; below 1 it keeps more of its start
    clip_norm: float = 1.0  # the largest norm of the gradient
    average_epochs: int = 8  # the final weights are the mean of this many epochs
    patience: int = 12  # epochs without progress before the run stops
    snapshot_steps: tuple[int, ...] = ()  # steps after which the weights are kept, besides the last one
    seed: int = 1
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    accumulate: int = 1  # batches per step of the optimizer, on each process
    compile: bool = False  # use torch.compile; worth it on a GPU

    @property
    def corpora(self) -> tuple[str, ...]:
        """Names of the corpora that can be validated on. A distilled or varied corpus counts as its original."""
        originals = (corpus.original for corpus in CorpusName.all_in(self.corpus))
        return tuple(dict.fromkeys(corpus.name for corpus in originals if not corpus.is_back_translated))

    def __post_init__(self) -> None:
        super().__post_init__()
        shown = self.shown
        require(
            bool(self.corpora),
            "corpus is {corpus}, which has no validation sentences. Add one that has them: corpus+other.",
            **shown,
        )
        self.require_positive("batch_tokens", "max_epochs", "max_steps", "warmup_steps", "average_epochs", "patience")
        self.require_positive("accumulate")
        require_seed(self.seed)
        require(
            self.pretrain_epochs > 0 if self.pretrain_corpus else self.pretrain_epochs == 0,
            "pretrain_corpus is {pretrain_corpus} and pretrain_epochs is {pretrain_epochs}. Set both or neither.",
            **shown,
        )
        require(
            min(self.snapshot_steps, default=0) >= 0,
            "snapshot_steps is {snapshot_steps}; each must be at least 0.",
            **shown,
        )
        require(
            self.cooldown_steps >= 0,
            "cooldown_steps is {cooldown_steps}; it must be at least 0. 0 means no cooldown.",
            **shown,
        )
        require(
            0 < self.attention_rate <= 1,
            "attention_rate is {attention_rate}; it must be above 0 and at most 1.",
            **shown,
        )
        require(self.learning_rate > 0, "learning_rate is {learning_rate}; it must be above 0.", **shown)
        require(self.clip_norm > 0, "clip_norm is {clip_norm}; it must be above 0.", **shown)
        for name in ("adam_beta1", "adam_beta2", "bpe_dropout", "word_dropout", "label_smoothing"):
            value = getattr(self, name)
            require(0.0 <= value < 1.0, "{name} is {value}; it must be at least 0 and below 1.", name=name, value=value)

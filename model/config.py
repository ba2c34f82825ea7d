"""What a model, a tokenizer and a training run are made of: flat frozen dataclasses, checked as they are built.

Knows nothing of torch. Every error names the offending values, so that it can be shown to a person as it stands.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from model.kinds import KINDS
from model.section import ConfigError, Section, require

__all__ = [
    "TASKS",
    "VOCAB_SIZES",
    "AnyModelConfig",
    "ClassifierConfig",
    "ConfigError",
    "LayersConfig",
    "ModelConfig",
    "RecurrentConfig",
    "SearchConfig",
    "TokenizerConfig",
    "TrainConfig",
    "require",
    "sizes_of",
]


@dataclass(frozen=True, kw_only=True)
class LayersConfig(Section):
    """What every stack of layers needs ("Attention Is All You Need", section 3; table 3 for the names)."""

    d_model: int = 256
    num_heads: int = 8
    d_ff: int = 512
    num_encoder_layers: int = 3
    dropout: float = 0.1
    norm: Literal["post", "pre"] = "post"
    activation: Literal["relu", "gelu"] = "relu"
    attention: Literal["scaled_dot_product", "additive"] = "scaled_dot_product"
    positional: Literal["sinusoidal", "learned", "rotary"] = "sinusoidal"
    max_length: int = 256

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("d_model", "num_heads", "d_ff", "max_length", "num_encoder_layers")
        require(
            self.d_model % self.num_heads == 0,
            f"d_model ({self.d_model}) must be divisible by num_heads ({self.num_heads}).",
        )
        require(
            self.positional != "sinusoidal" or self.d_model % 2 == 0,
            f"d_model ({self.d_model}) must be even for sinusoidal positions, which pair a sine with a cosine.",
        )
        require(
            self.positional != "rotary" or self.d_model // self.num_heads % 2 == 0,
            f"Rotary positions turn pairs of numbers, but a head has {self.d_model // self.num_heads} of them "
            f"(d_model {self.d_model} / num_heads {self.num_heads}); an even number is needed.",
        )
        require(
            self.positional != "rotary" or self.max_length > 1,
            f"max_length is {self.max_length}; rotary positions tell two or more apart.",
        )
        require(
            self.positional != "rotary" or self.attention == "scaled_dot_product",
            f"attention is {self.attention}; rotary positions need the product of queries and keys.",
        )
        require(0.0 <= self.dropout < 1.0, f"dropout is {self.dropout}; it must be at least 0 and below 1.")

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attention that the model has."""
        return tuple(kind for kind in KINDS if self.layers_of(kind))

    def layers_of(self, kind: str) -> int:
        """How many layers have a kind of attention, one of `KINDS`."""
        return self.num_encoder_layers if kind == "encoder" else 0


@dataclass(frozen=True, kw_only=True)
class ModelConfig(LayersConfig):
    """Sizes of an encoder-decoder Transformer."""

    source_vocab_size: int
    target_vocab_size: int
    num_decoder_layers: int = 3
    # none: three separate matrices; target: target embedding = output projection; all: source embedding too
    tie_embeddings: Literal["none", "target", "all"] = "all"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("source_vocab_size", "target_vocab_size", "num_decoder_layers")
        require(self.positional != "rotary", "positional is rotary, which only a classifier has; choose another.")
        require_one_vocabulary(self)

    def layers_of(self, kind: str) -> int:
        return self.num_encoder_layers if kind == "encoder" else self.num_decoder_layers


@dataclass(frozen=True, kw_only=True)
class RecurrentConfig(Section):
    """Sizes of a recurrent encoder-decoder: one layer, and one head that looks at the source, or none."""

    architecture: Literal["recurrent"] = "recurrent"
    d_model: int = 256  # of the embeddings
    d_hidden: int = 256  # of the state, in each direction
    attention: Literal["additive", "none"] = "additive"
    dropout: float = 0.3
    max_length: int = 256
    source_vocab_size: int
    target_vocab_size: int
    tie_embeddings: Literal["none", "target", "all"] = "all"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("d_model", "d_hidden", "max_length", "source_vocab_size", "target_vocab_size")
        require(0.0 <= self.dropout < 1.0, f"dropout is {self.dropout}; it must be at least 0 and below 1.")
        require_one_vocabulary(self)

    positional = "recurrence"  # no encoding: it reads in order
    num_heads = num_encoder_layers = num_decoder_layers = 1

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of attention that the model has."""
        return tuple(kind for kind in KINDS if self.layers_of(kind))

    def layers_of(self, kind: str) -> int:
        """How many layers have a kind of attention, one of `KINDS`."""
        return int(kind == "cross" and self.attention == "additive")


def require_one_vocabulary(config: ModelConfig | RecurrentConfig) -> None:
    require(
        config.tie_embeddings != "all" or config.source_vocab_size == config.target_vocab_size,
        f'tie_embeddings = "all" needs one vocabulary, but source_vocab_size is {config.source_vocab_size} '
        f'and target_vocab_size is {config.target_vocab_size}; use "target" or "none".',
    )


@dataclass(frozen=True, kw_only=True)
class ClassifierConfig(LayersConfig):
    """Sizes of an encoder with a pooling head."""

    vocab_size: int
    labels: tuple[str, ...]
    pooling: Literal["attention", "mean"] = "attention"
    several_labels = False  # each text has just one

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("vocab_size")
        require(len(set(self.labels)) > 1, f"labels are {list(self.labels)}; there must be two different ones or more.")


AnyModelConfig = ModelConfig | RecurrentConfig | ClassifierConfig


@dataclass(frozen=True, kw_only=True)
class TokenizerConfig(Section):
    """How text becomes tokens. `words` uses min_freq and lowercase, `bpe` uses vocab_size."""

    kind: Literal["bpe", "words"]
    source_language: str
    target_language: str = ""  # of a translation
    vocab_size: int = 8000
    min_freq: int = 2
    lowercase: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.vocab_size >= 260, f"vocab_size is {self.vocab_size}; 256 bytes and 4 special tokens need 260.")
        require(self.min_freq >= 1, f"min_freq is {self.min_freq}; it must be at least 1.")
        require(not (self.lowercase and self.kind == "bpe"), 'lowercase = true needs kind = "words".')


# What `distill`, `vary` and `backtranslate` add to the name of a corpus; the last two make it for models that read one
# language. What a back-translated one was made from need not be in both languages: nothing is tested on that.
DISTILLED, VARIED, BACK = "-distilled", re.compile(r"-varied-[a-z]+$"), re.compile(r"-back-[a-z]+$")


@dataclass(frozen=True, kw_only=True)
class TrainConfig(Section):
    """How a model is trained. Batches are counted in the tokens of their longer side, padding included."""

    corpus: str
    pretrain_corpus: str = ""  # read instead in the first epochs; the vocabulary is learned on it
    pretrain_epochs: int = 0
    batch_tokens: int = 2560
    max_epochs: int = 40
    max_steps: int = 100_000
    learning_rate: float = 1e-3
    warmup_steps: int = 800
    cooldown_steps: int = 0  # the last ones, over which the learning rate falls to 0; 0: it never does
    adam_beta1: float = 0.9
    adam_beta2: float = 0.98
    label_smoothing: float = 0.1
    bpe_dropout: float = 0.0  # above 0 each epoch cuts words differently, after the batches were put together
    word_dropout: float = 0.0  # share of a classifier's words that are read as unknown ones, others in each epoch
    fill_gaps: bool = False  # learn which words it hides, not the labels: a start for a classifier that reads
    attention_rate: float = 1.0  # share of the learning rate that self-attention has, to keep what it learned before
    clip_norm: float = 1.0
    average_epochs: int = 8
    patience: int = 12
    snapshot_steps: tuple[int, ...] = ()  # after which the weights are kept; the end of the run is added
    seed: int = 1
    precision: Literal["fp32", "bf16", "fp16"] = "fp32"
    accumulate: int = 1  # batches that make one step of the optimizer, on each process
    compile: bool = False  # torch.compile; pays on a GPU

    @property
    def corpora(self) -> tuple[str, ...]:
        """What is learned and can be tested, corpus by corpus; a distilled or varied one by what it was made from."""
        names = (VARIED.sub("", name.removesuffix(DISTILLED)) for name in self.corpus.split("+"))
        return tuple(dict.fromkeys(name for name in names if not BACK.search(name)))

    def __post_init__(self) -> None:
        super().__post_init__()
        require(bool(self.corpora), f"corpus is {self.corpus!r}; join it with a corpus that can be validated on.")
        self.require_positive("batch_tokens", "max_epochs", "max_steps", "warmup_steps", "average_epochs", "patience")
        self.require_positive("accumulate")
        require_seed(self.seed)
        require(
            self.pretrain_epochs > 0 if self.pretrain_corpus else self.pretrain_epochs == 0,
            f"pretrain_corpus is {self.pretrain_corpus!r} and pretrain_epochs is {self.pretrain_epochs}; "
            "set both or neither.",
        )
        require(
            min(self.snapshot_steps, default=0) >= 0, f"snapshot_steps are {self.snapshot_steps}; steps start at 0."
        )
        require(self.cooldown_steps >= 0, f"cooldown_steps is {self.cooldown_steps}; 0 is none.")
        require(
            0 < self.attention_rate <= 1,
            f"attention_rate is {self.attention_rate}; it must be above 0 and at most 1, the rate of all else.",
        )
        require(self.learning_rate > 0, f"learning_rate is {self.learning_rate}; it must be above 0.")
        for name in ("adam_beta1", "adam_beta2"):
            require(0.0 <= getattr(self, name) < 1.0, f"{name} is {getattr(self, name)}; it must be in [0, 1).")
        require(self.clip_norm > 0, f"clip_norm is {self.clip_norm}; it must be above 0.")
        for name in ("bpe_dropout", "word_dropout", "label_smoothing"):
            require(0.0 <= getattr(self, name) < 1.0, f"{name} is {getattr(self, name)}; it must be in [0, 1).")


def require_seed(seed: int) -> None:
    require(-(2**63) <= seed < 2**63, f"seed is {seed}; it must fit into 64 bits. Choose a smaller number.")


@dataclass(frozen=True, kw_only=True)
class SearchConfig(Section):
    """How a translation is searched for. `beam` uses the first two settings, `sample` the others, `greedy` none."""

    method: Literal["greedy", "beam", "sample"] = "greedy"
    beam_size: int = 5
    length_penalty: float = 1.0
    temperature: float = 1.0
    top_k: int = 0  # 0: all
    top_p: float = 1.0
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("beam_size")
        # Beyond these, 32-bit log-probabilities divided by it are no numbers any more.
        require(
            0.001 <= self.temperature <= 1000,
            f"temperature is {self.temperature}; it must be from 0.001 (almost greedy) to 1000 (almost uniform).",
        )
        require(self.top_k >= 0, f"top_k is {self.top_k}; it must be at least 1, or 0 for all tokens.")
        require(0 < self.top_p <= 1, f"top_p is {self.top_p}; it must be above 0 and at most 1.")
        require(
            0 <= self.length_penalty <= 10,
            f"length_penalty is {self.length_penalty}; it must be from 0 to 10; 1 ranks by the mean per token.",
        )
        require_seed(self.seed)


TASKS: Mapping[str, type[ModelConfig] | type[ClassifierConfig]] = {
    "translation": ModelConfig,
    "classification": ClassifierConfig,
}


def sizes_of(
    task: str, values: Mapping[str, Any]
) -> type[ModelConfig] | type[RecurrentConfig] | type[ClassifierConfig]:
    """Which sizes a model has: those of its task, or of another architecture that the values name."""
    recurrent = task == "translation" and values.get("architecture") == "recurrent"
    return RecurrentConfig if recurrent else TASKS[task]


VOCAB_SIZES = {"translation": ("source_vocab_size", "target_vocab_size"), "classification": ("vocab_size",)}

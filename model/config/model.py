"""The sizes of a model of any architecture, as flat frozen dataclasses with checked values."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from model.config.kinds import Sizes
from model.config.section import Section, require

__all__ = [
    "TASKS",
    "VOCAB_SIZES",
    "AnyModelConfig",
    "ClassifierConfig",
    "DecoderSizes",
    "LayersConfig",
    "ModelConfig",
    "Positional",
    "RecurrentConfig",
    "config_class",
]


# table: vectors that come with the weights; none: only the mask of a decoder shows the order of its tokens.
Positional = Literal["sinusoidal", "learned", "table", "rotary", "alibi", "relative", "none"]


@dataclass(frozen=True, kw_only=True)
class LayersConfig(Section, Sizes):
    """The sizes of a stack of layers ("Attention Is All You Need", section 3; the names are those of table 3)."""

    d_model: int = 256
    num_heads: int = 8
    d_ff: int = 512
    num_encoder_layers: int = 3
    dropout: float = 0.1
    norm: Literal["post", "pre"] = "post"
    activation: Literal["relu", "gelu"] = "relu"
    attention: Literal["scaled_dot_product", "additive"] = "scaled_dot_product"
    positional: Positional = "sinusoidal"
    max_length: int = 256
    num_kv_heads: int = 0  # different keys and values, which num_heads / num_kv_heads heads share; 0 = num_heads
    score_cap: float = 0.0  # the limit of the scores; 0 = none
    attention_sinks: bool = False  # each head has a learned score without a key in its softmax

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("d_model", "num_heads", "d_ff", "max_length", "num_encoder_layers")
        require_heads(self)
        require(
            self.positional != "sinusoidal" or self.d_model % 2 == 0,
            "d_model ({d_model}) must be even: sinusoidal positions pair each sine with a cosine.",
            **self.shown,
        )
        rotary = self.positional == "rotary"
        require(
            not rotary or self.max_length > 1,
            "max_length is {max_length}; rotary positions need at least 2.",
            **self.shown,
        )
        require(
            not rotary or self.attention == "scaled_dot_product",
            'attention is {attention}; rotary positions need "scaled_dot_product".',
            **self.shown,
        )
        require(
            0.0 <= self.score_cap < float("inf"),
            "score_cap is {score_cap}; it must be above 0, such as 50, or 0 for scores without a limit.",
            **self.shown,
        )
        require_dropout(self)

    def num_layers(self, kind: str) -> int:
        return self.num_encoder_layers if kind == "encoder" else 0


@dataclass(frozen=True, kw_only=True)
class ModelConfig(LayersConfig):
    """The sizes of an encoder-decoder Transformer."""

    source_vocab_size: int
    target_vocab_size: int
    num_decoder_layers: int = 3
    # Which matrices are shared. target: the target embedding and the output projection; all: the source embedding too.
    tie_embeddings: Literal["none", "target", "all"] = "all"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("source_vocab_size", "target_vocab_size", "num_decoder_layers")
        require_one_vocabulary(self)

    def num_layers(self, kind: str) -> int:
        return self.num_encoder_layers if kind == "encoder" else self.num_decoder_layers


@dataclass(frozen=True, kw_only=True)
class RecurrentConfig(Section, Sizes):
    """The sizes of a recurrent encoder-decoder: one layer, and one head of cross-attention or none."""

    architecture: Literal["recurrent"] = "recurrent"
    d_model: int = 256  # width of the embeddings
    d_hidden: int = 256  # width of the state, in each direction
    attention: Literal["additive", "none"] = "additive"
    dropout: float = 0.3
    max_length: int = 256
    source_vocab_size: int
    target_vocab_size: int
    tie_embeddings: Literal["none", "target", "all"] = "all"

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("d_model", "d_hidden", "max_length", "source_vocab_size", "target_vocab_size")
        require_dropout(self)
        require_one_vocabulary(self)

    positional = "recurrence"  # no encoding, because it reads in order
    num_heads = num_encoder_layers = num_decoder_layers = 1

    def num_layers(self, kind: str) -> int:
        return int(kind == "cross" and self.attention == "additive")


def require_one_vocabulary(config: ModelConfig | RecurrentConfig) -> None:
    """Raise a ConfigError if all embeddings are shared but the vocabularies differ in size."""
    require(
        config.tie_embeddings != "all" or config.source_vocab_size == config.target_vocab_size,
        'tie_embeddings = "all" needs a shared vocabulary, but source_vocab_size is {source_vocab_size} '
        'and target_vocab_size is {target_vocab_size}. Use "target" or "none".',
        **config.shown,
    )


def require_dropout(config: LayersConfig | RecurrentConfig) -> None:
    require(0.0 <= config.dropout < 1.0, "dropout is {dropout}; it must be at least 0 and below 1.", **config.shown)


@dataclass(frozen=True, kw_only=True)
class ClassifierConfig(LayersConfig):
    """The sizes of a classifier: an encoder, and a pooling head that combines its vectors."""

    vocab_size: int
    labels: tuple[str, ...]
    pooling: Literal["attention", "mean"] = "attention"
    several_labels = False  # each text has exactly one label

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("vocab_size")
        require(
            len(set(self.labels)) > 1,
            "labels are {labels}; a classifier needs at least two different ones.",
            **self.shown,
        )


@dataclass(frozen=True, kw_only=True)
class DecoderSizes(Section):
    """The table [model] in the `headlight.toml` of a decoder without an encoder, named as in our recipes."""

    d_model: int
    num_heads: int
    num_kv_heads: int = 0  # different keys and values, which num_heads / num_kv_heads heads share; 0 = num_heads
    d_ff: int
    num_decoder_layers: int
    num_encoder_layers: int = 0
    max_length: int
    vocab_size: int
    norm: Literal["post", "pre"] = "post"
    rms_norm: bool = False  # Zhang and Sennrich 2019, instead of a LayerNorm
    final_norm: bool = False  # a norm after the last layer
    activation: Literal["relu", "gelu", "gelu_tanh", "silu"] = "relu"
    gated: bool = False  # the feed-forward network has a third matrix, a gate
    positional: Literal["sinusoidal", "learned", "table", "rotary", "none"] = "sinusoidal"
    rotary_base: float = 0.0
    scale_embeddings: bool = True  # by √d_model

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require_positive("d_model", "num_heads", "d_ff", "num_decoder_layers", "max_length", "vocab_size")
        require(
            self.num_encoder_layers == 0,
            "num_encoder_layers is {layers}; a decoder alone has none. Write 0, or remove the line.",
            layers=self.num_encoder_layers,
        )
        require_heads(self)
        require(
            self.positional != "rotary" or self.rotary_base > 1,
            "rotary_base is {base}; it must be above 1, such as 10000.",
            base=self.rotary_base,
        )


def require_heads(sizes: LayersConfig | DecoderSizes) -> None:
    """Raise a ConfigError if the heads cannot divide the width, or the shared keys the heads."""
    width, shown = sizes.d_model // sizes.num_heads, sizes.shown
    require(
        sizes.d_model % sizes.num_heads == 0,
        "d_model ({d_model}) must be divisible by num_heads ({num_heads}).",
        **shown,
    )
    require(
        sizes.positional != "rotary" or width % 2 == 0,
        "The width of a head is {width} (d_model {d_model} / num_heads {num_heads}); it must be "
        "even, because rotary positions rotate pairs of numbers.",
        width=width,
        **shown,
    )
    shared = sizes.num_kv_heads or sizes.num_heads
    require(
        shared > 0 and sizes.num_heads % shared == 0,
        "num_kv_heads is {num_kv_heads} and num_heads is {num_heads}. num_kv_heads must divide "
        "num_heads; 0 means that no heads share keys.",
        **shown,
    )


AnyModelConfig = ModelConfig | RecurrentConfig | ClassifierConfig


TASKS: Mapping[str, type[ModelConfig] | type[ClassifierConfig]] = {
    "translation": ModelConfig,
    "classification": ClassifierConfig,
}


def config_class(
    task: str, values: Mapping[str, object]
) -> type[ModelConfig] | type[RecurrentConfig] | type[ClassifierConfig]:
    """The class of a model's sizes.

    Args:
        task: One of `TASKS`.
        values: The sizes; they may name another architecture.
    """
    recurrent = task == "translation" and values.get("architecture") == "recurrent"
    return RecurrentConfig if recurrent else TASKS[task]


VOCAB_SIZES = {"translation": ("source_vocab_size", "target_vocab_size"), "classification": ("vocab_size",)}

"""The sizes of a decoder without an encoder, whose weights the code of a tutorial saved."""

from dataclasses import dataclass
from typing import Literal

from model.config.section import Section, require

__all__ = ["DecoderSizes"]


@dataclass(frozen=True, kw_only=True)
class DecoderSizes(Section):
    """The table [model] of its `headlight.toml`, named as in our recipes where these have the setting."""

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
        require(
            self.d_model % self.num_heads == 0,
            "d_model ({d_model}) must be divisible by num_heads ({num_heads}).",
            d_model=self.d_model,
            num_heads=self.num_heads,
        )
        shared = self.num_kv_heads or self.num_heads
        require(
            shared > 0 and self.num_heads % shared == 0,
            "num_kv_heads is {num_kv_heads} and num_heads is {num_heads}. num_kv_heads must divide "
            "num_heads; 0 means that no heads share keys.",
            num_kv_heads=self.num_kv_heads,
            num_heads=self.num_heads,
        )
        require(
            self.positional != "rotary" or self.d_model // self.num_heads % 2 == 0,
            "The width of a head is {width} (d_model {d_model} / num_heads {num_heads}); it must be "
            "even, because rotary positions rotate pairs of numbers.",
            width=self.d_model // self.num_heads,
            d_model=self.d_model,
            num_heads=self.num_heads,
        )
        require(
            self.positional != "rotary" or self.rotary_base > 1,
            "rotary_base is {base}; it must be above 1, such as 10000.",
            base=self.rotary_base,
        )

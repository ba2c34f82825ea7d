"""The decoder alone of tutorials, such as nanoGPT and llama2.c, as a model of Hugging Face's `transformers`.

Tutorials differ in their norms, activations and positions. The library has no family with all their combinations, so
this is one. Its tensors have the names of our own decoder. As every model of the library it `Reads` and `Writes` with
`ForeignLanguageModel`.
"""

import math
from collections.abc import Callable
from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import DynamicCache, PreTrainedConfig, PreTrainedModel
from transformers.masking_utils import create_causal_mask
from transformers.modeling_outputs import CausalLMOutputWithPast

from model.checkpoints.layouts import NormForm
from model.config.model import DecoderSizes
from model.foreign.attention import attend
from model.network.norms import SampleNorm

__all__ = ["TutorialDecoder", "rotary_frequencies"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
}


class DecoderConfig(PreTrainedConfig):
    """What the library asks a model for."""

    model_type = "decoder"
    hidden_size: int = 0
    num_attention_heads: int = 0
    num_hidden_layers: int = 0
    max_position_embeddings: int = 0
    vocab_size: int = 0
    tie_word_embeddings: bool = False


class FixedPositions(nn.Module):
    """Vectors that are not learned, one for each position."""

    def __init__(self, length: int, width: int) -> None:
        super().__init__()
        self.register_buffer("weight", torch.empty(length, width))

    def forward(self, positions: Tensor) -> Tensor:  # (B, T) → (B, T, D)
        return self.get_buffer("weight")[positions]


class SinusoidalPositions(FixedPositions):
    """The waves of "Attention Is All You Need"."""


TABLES: dict[str, type[nn.Module]] = {
    "learned": nn.Embedding,
    "sinusoidal": SinusoidalPositions,
    "table": FixedPositions,
}


def rotary_frequencies(width: int, base: float) -> Tensor:
    """Radians for each position, (K / 2,)."""
    return base ** (-torch.arange(0, width, 2, dtype=torch.float32) / width)


class Rotation(nn.Module):
    """Rotates neighbouring numbers of queries and keys ("RoFormer", Su et al. 2021, section 3.2.2)."""

    inv_freq: Tensor  # (K / 2,), radians for each position

    def __init__(self, width: int, base: float) -> None:
        super().__init__()
        self.register_buffer("inv_freq", rotary_frequencies(width, base), persistent=False)

    def forward(self, x: Tensor, positions: Tensor) -> Tensor:
        """Rotate the vectors (B, H, T, K) of the positions (B or 1, T)."""
        angle = positions[:, None, :, None].float() * self.inv_freq  # (B, 1, T, K / 2)
        first, second = x.float().unflatten(-1, (-1, 2)).unbind(-1)  # (B, H, T, K / 2)
        sine, cosine = angle.sin(), angle.cos()
        rotated = first * cosine - second * sine, first * sine + second * cosine
        return torch.stack(rotated, dim=-1).flatten(-2).to(x)


class SelfAttention(nn.Module):
    """Causal attention. Several heads may share keys and values."""

    is_causal = True

    def __init__(self, sizes: DecoderSizes, layer: int) -> None:
        super().__init__()
        self.layer, self.width = layer, sizes.d_model // sizes.num_heads
        shared = self.width * (sizes.num_kv_heads or sizes.num_heads)
        self.query_projection = nn.Linear(sizes.d_model, sizes.d_model)
        self.key_projection = nn.Linear(sizes.d_model, shared)
        self.value_projection = nn.Linear(sizes.d_model, shared)
        self.output_projection = nn.Linear(sizes.d_model, sizes.d_model)
        self.rotation = Rotation(self.width, sizes.rotary_base) if sizes.positional == "rotary" else None

    def forward(self, x: Tensor, *, positions: Tensor, mask: Tensor | None, cache: DynamicCache | None) -> Tensor:
        projections = (self.query_projection, self.key_projection, self.value_projection)
        query, key, value = (part(x).unflatten(-1, (-1, self.width)).transpose(1, 2) for part in projections)
        if self.rotation is not None:
            query, key = self.rotation(query, positions), self.rotation(key, positions)
        if cache is not None:
            key, value = cache.update(key, value, self.layer)
        heads, _ = attend(self, query, key, value, mask, scaling=1 / math.sqrt(self.width))  # (B, T, H, K)
        return cast(Tensor, self.output_projection(heads.flatten(2)))


class FeedForward(nn.Module):
    """Two matrices with an activation between them, or three with a gate (Shazeer 2020)."""

    def __init__(self, sizes: DecoderSizes) -> None:
        super().__init__()
        self.expand = nn.Linear(sizes.d_model, sizes.d_ff)
        self.gate = nn.Linear(sizes.d_model, sizes.d_ff) if sizes.gated else None
        self.contract = nn.Linear(sizes.d_ff, sizes.d_model)
        self.activation = ACTIVATIONS[sizes.activation]

    def forward(self, x: Tensor) -> Tensor:
        inner = self.expand(x)  # (B, T, F)
        units = self.activation(inner) if self.gate is None else self.activation(self.gate(x)) * inner
        return cast(Tensor, self.contract(units))


def make_norm(sizes: DecoderSizes, form: NormForm) -> nn.Module:
    if sizes.rms_norm:
        return nn.RMSNorm(sizes.d_model, eps=form.epsilon)
    kind = SampleNorm if form.deviation == "sample" else nn.LayerNorm
    return kind(sizes.d_model, eps=form.epsilon)


class Residual(nn.Module):
    """x + Sublayer(Norm(x)), or Norm(x + Sublayer(x)) with the norm "post"."""

    def __init__(self, sizes: DecoderSizes, norm: NormForm) -> None:
        super().__init__()
        self.norm, self.pre = make_norm(sizes, norm), sizes.norm == "pre"

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        return x + sublayer(self.norm(x)) if self.pre else cast(Tensor, self.norm(x + sublayer(x)))


class Layer(nn.Module):
    """Self-attention, then feed-forward."""

    def __init__(self, sizes: DecoderSizes, norm: NormForm, layer: int) -> None:
        super().__init__()
        self.do_layer_norm_before = sizes.norm == "pre"  # as in OPT, see `layout_of`
        self.self_attention = SelfAttention(sizes, layer)
        self.feed_forward = FeedForward(sizes)
        self.self_attention_residual, self.feed_forward_residual = Residual(sizes, norm), Residual(sizes, norm)

    def forward(self, x: Tensor, *, positions: Tensor, mask: Tensor | None, cache: DynamicCache | None) -> Tensor:
        x = self.self_attention_residual(
            x, lambda x: self.self_attention(x, positions=positions, mask=mask, cache=cache)
        )
        return cast(Tensor, self.feed_forward_residual(x, self.feed_forward))


class Embedding(nn.Module):
    """The vectors of the tokens, and a vector for each position if there is a table."""

    def __init__(self, sizes: DecoderSizes) -> None:
        super().__init__()
        self.tokens = nn.Embedding(sizes.vocab_size, sizes.d_model)
        table = TABLES.get(sizes.positional)
        self.position_embeddings = None if table is None else table(sizes.max_length, sizes.d_model)


class Decoder(nn.Module):
    """Embedding, layers and perhaps a last norm."""

    def __init__(self, sizes: DecoderSizes, norm: NormForm, config: PreTrainedConfig) -> None:
        super().__init__()
        self.config = config
        self.embedding = Embedding(sizes)
        self.embed_scale = math.sqrt(sizes.d_model) if sizes.scale_embeddings else 1.0  # as in BART
        self.layers = nn.ModuleList(Layer(sizes, norm, layer) for layer in range(sizes.num_decoder_layers))
        self.norm = make_norm(sizes, norm) if sizes.final_norm else None

    def forward(self, ids: Tensor, *, positions: Tensor, seen: Tensor | None, cache: DynamicCache | None) -> Tensor:
        x = self.embedding.tokens(ids) * self.embed_scale  # (B, T, D)
        if self.embedding.position_embeddings is not None:
            x = x + self.embedding.position_embeddings(positions)
        mask = create_causal_mask(config=self.config, inputs_embeds=x, attention_mask=seen, past_key_values=cache)
        for layer in self.layers:
            x = layer(x, positions=positions, mask=mask, cache=cache)
        return x if self.norm is None else self.norm(x)


class TutorialDecoder(PreTrainedModel):
    """Token ids in, logits out. It is only built for weights that are loaded next."""

    config_class = DecoderConfig
    _supports_attention_backend = True

    def __init__(self, sizes: DecoderSizes, norm: NormForm) -> None:
        super().__init__(
            DecoderConfig(
                hidden_size=sizes.d_model,
                num_attention_heads=sizes.num_heads,
                num_hidden_layers=sizes.num_decoder_layers,
                max_position_embeddings=sizes.max_length,
                vocab_size=sizes.vocab_size,
            )
        )
        self.decoder = Decoder(sizes, norm, self.config)
        self.output_projection = nn.Linear(sizes.d_model, sizes.vocab_size)

    @classmethod
    def _can_set_attn_implementation(cls) -> bool:  # the library looks for its own call in the code
        return True

    def get_input_embeddings(self) -> nn.Module:
        return self.decoder.embedding.tokens

    def get_output_embeddings(self) -> nn.Module:
        return self.output_projection

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: DynamicCache | None = None,
        use_cache: bool = False,
    ) -> CausalLMOutputWithPast:
        """As all language models of the library: ids (B, T) to logits (B, T, V)."""
        start = 0 if past_key_values is None else past_key_values.get_seq_length()
        if position_ids is None:
            position_ids = torch.arange(start, start + input_ids.size(1), device=input_ids.device)[None]
        states = self.decoder(input_ids, positions=position_ids, seen=attention_mask, cache=past_key_values)
        return CausalLMOutputWithPast(logits=self.output_projection(states))

"""The encoder layer and the decoder layer: attention and feed-forward, each with a residual connection and a norm."""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor, nn

from model.config.model import LayersConfig
from model.network.attention import MultiHeadAttention
from model.network.cache import KeyValue
from model.network.distance_bias import BucketedBias, LinearBias
from model.network.dropout import Dropout
from model.network.positional import LayerPositions, RotaryPositions
from model.trace import HookPoint

__all__ = ["DecoderLayer", "EncoderLayer", "FeedForward", "Residual", "make_layer_positions"]


class FeedForward(nn.Module):
    """max(0, xW₁ + b₁)W₂ + b₂ at each position ("Attention Is All You Need", equation 2), or with GELU."""

    def __init__(self, config: LayersConfig) -> None:
        super().__init__()
        self.expand = nn.Linear(config.d_model, config.d_ff)
        self.contract = nn.Linear(config.d_ff, config.d_model)
        self.dropout = Dropout(config.dropout)
        self.activation = F.gelu if config.activation == "gelu" else F.relu
        self.units = HookPoint()  # (B, T, F)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.expand(x)  # (B, T, F); step: expand
        units = self.units(self.activation(inner))  # step: activation
        return self.contract(self.dropout(units))  # (B, T, D); step: contract


class Residual(nn.Module):
    """LayerNorm(x + Sublayer(x)) ("Attention Is All You Need", section 3.1), with dropout on the sublayer output.

    With the norm first ("pre") it is x + Sublayer(LayerNorm(x)). This makes deep models easier to train (Xiong et al.
    2020).
    """

    def __init__(self, config: LayersConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.d_model)
        self.dropout = Dropout(config.dropout)
        self.pre = config.norm == "pre"
        self.normed = HookPoint()  # (B, T, D), what the norm returns
        self.added = HookPoint()  # (B, T, D), what the sublayer adds to the stream
        self.stream = HookPoint()  # (B, T, D)

    def forward(self, x: Tensor, sublayer: Callable[[Tensor], Tensor]) -> Tensor:
        if self.pre:
            normed = self.normed(self.norm(x))  # step: norm first
            return self.stream(x + self.added(self.dropout(sublayer(normed))))  # step: add to the stream
        total = x + self.added(self.dropout(sublayer(x)))  # step: add
        return self.stream(self.normed(self.norm(total)))  # step: norm


def make_layer_positions(config: LayersConfig, *, both_sides: bool) -> LayerPositions:
    """What the self-attention of all layers of a stack does for positions; nothing where vectors are added to tokens.

    Args:
        config: The sizes.
        both_sides: A query may attend to later keys.
    """
    if config.positional == "rotary":
        return RotaryPositions(max_length=config.max_length, width=config.d_model // config.num_heads)
    if config.positional == "alibi":
        return LinearBias(num_heads=config.num_heads)
    if config.positional == "relative":
        return BucketedBias(num_heads=config.num_heads, d_model=config.d_model, both_sides=both_sides)
    return LayerPositions()


def attention(config: LayersConfig, positions: LayerPositions | None = None) -> MultiHeadAttention:
    return MultiHeadAttention(
        d_model=config.d_model,
        num_heads=config.num_heads,
        dropout=config.dropout,
        kind=config.attention,
        positions=positions,
        num_kv_heads=config.num_kv_heads or None,
        score_cap=config.score_cap or None,
        sinks=config.attention_sinks,
    )


class EncoderLayer(nn.Module):
    """Self-attention over the source, then feed-forward."""

    def __init__(self, config: LayersConfig, positions: LayerPositions) -> None:
        super().__init__()
        self.self_attention = attention(config, positions)
        self.feed_forward = FeedForward(config)
        self.self_attention_residual = Residual(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x: Tensor, *, mask: Tensor | None) -> Tensor:
        x = self.self_attention_residual(x, lambda x: self.self_attention(x, mask=mask))
        return self.feed_forward_residual(x, self.feed_forward)


class DecoderLayer(nn.Module):
    """Masked self-attention over the target, cross-attention to the source, then feed-forward."""

    def __init__(self, config: LayersConfig, positions: LayerPositions) -> None:
        super().__init__()
        self.self_attention = attention(config, positions)
        self.cross_attention = attention(config)
        self.feed_forward = FeedForward(config)
        self.self_attention_residual = Residual(config)
        self.cross_attention_residual = Residual(config)
        self.feed_forward_residual = Residual(config)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        *,
        self_mask: Tensor | None,
        cross_mask: Tensor | None,
        self_cache: KeyValue | None = None,
        cross_cache: KeyValue | None = None,
    ) -> Tensor:
        x = self.self_attention_residual(x, lambda x: self.self_attention(x, mask=self_mask, cache=self_cache))
        x = self.cross_attention_residual(
            x, lambda x: self.cross_attention(x, memory, mask=cross_mask, cache=cross_cache)
        )
        return self.feed_forward_residual(x, self.feed_forward)

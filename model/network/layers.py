"""The encoder layer and the decoder layer: attention and feed-forward, each with a residual and a norm around it."""

import torch.nn.functional as F
from torch import Tensor, nn

from model.config import LayersConfig
from model.network.attention import MultiHeadAttention
from model.network.cache import KeyValue
from model.network.dropout import Dropout, add_dropped
from model.trace import HookPoint

__all__ = ["DecoderLayer", "EncoderLayer", "FeedForward"]


def attention(config: LayersConfig) -> MultiHeadAttention:
    return MultiHeadAttention(
        d_model=config.d_model, num_heads=config.num_heads, dropout=config.dropout, kind=config.attention
    )


class FeedForward(nn.Module):
    """max(0, xW₁ + b₁)W₂ + b₂ at each position ("Attention Is All You Need", equation 2), or with GELU for the max."""

    def __init__(self, config: LayersConfig) -> None:
        super().__init__()
        self.expand = nn.Linear(config.d_model, config.d_ff)
        self.contract = nn.Linear(config.d_ff, config.d_model)
        self.dropout = Dropout(config.dropout)
        self.activation = F.gelu if config.activation == "gelu" else F.relu

    def forward(self, x: Tensor) -> Tensor:
        return self.contract(self.dropout(self.activation(self.expand(x))))  # (B, T, D)


class Residual(nn.Module):
    """Adds a sublayer's output to its input and normalizes: after the sum (post) or before the sublayer (pre)."""

    def __init__(self, config: LayersConfig) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(config.d_model)
        self.dropout = config.dropout
        self.pre = config.norm == "pre"
        self.stream = HookPoint()  # (B, T, D)

    def before(self, x: Tensor) -> Tensor:
        return self.norm(x) if self.pre else x

    def after(self, x: Tensor, sublayer: Tensor) -> Tensor:
        total = add_dropped(x, sublayer, self.dropout, self.training)
        return self.stream(total if self.pre else self.norm(total))


class EncoderLayer(nn.Module):
    """Self-attention over the source, then feed-forward."""

    def __init__(self, config: LayersConfig) -> None:
        super().__init__()
        self.self_attention = attention(config)
        self.feed_forward = FeedForward(config)
        self.self_attention_residual = Residual(config)
        self.feed_forward_residual = Residual(config)

    def forward(self, x: Tensor, *, mask: Tensor | None) -> Tensor:
        attended = self.self_attention(self.self_attention_residual.before(x), mask=mask)
        x = self.self_attention_residual.after(x, attended)
        return self.feed_forward_residual.after(x, self.feed_forward(self.feed_forward_residual.before(x)))


class DecoderLayer(nn.Module):
    """Masked self-attention over what is written, cross-attention to the source, then feed-forward."""

    def __init__(self, config: LayersConfig) -> None:
        super().__init__()
        self.self_attention = attention(config)
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
        attended = self.self_attention(self.self_attention_residual.before(x), mask=self_mask, cache=self_cache)
        x = self.self_attention_residual.after(x, attended)
        asking = self.cross_attention_residual.before(x)
        attended = self.cross_attention(asking, memory, mask=cross_mask, cache=cross_cache)
        x = self.cross_attention_residual.after(x, attended)
        return self.feed_forward_residual.after(x, self.feed_forward(self.feed_forward_residual.before(x)))

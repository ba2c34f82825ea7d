"""Mask and softmax as pure functions, and the multi-head layer that uses them. `scores.py` computes the scores.

Begin with `MultiHeadAttention.written_out`: equation 1, step by step. When no trace is active, `fused` computes the
same in one operation. This file knows nothing of tokens, of the screen, or of how masks are made. `model/__init__.py`
explains the letters of the shapes.
"""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.network.cache import KeyValue, by_source, for_heads
from model.network.cpu_attention import attend_on_cpu
from model.network.dropout import Dropout
from model.network.positional import LayerPositions
from model.network.scores import attention_scores
from model.trace import HookPoint, active_trace

__all__ = ["MultiHeadAttention", "attention_weights", "mask_scores"]


def mask_scores(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Set masked scores to minus infinity, so that the softmax gives exactly 0 there."""
    return scores if mask is None else scores.masked_fill(~mask, float("-inf"))  # step: mask


def attention_weights(masked_scores: Tensor, sinks: Tensor | None = None) -> Tensor:
    """Softmax over the keys: every query row sums to 1, or is all 0 if the mask allows the query no key.

    Args:
        masked_scores: (B, H, T, S), minus infinity where masked.
        sinks: One learned score for each head, (H,). It takes part in the softmax like the score of one more key
            without a value (gpt-oss, OpenAI 2025, section 2.3; Xiao et al. 2024). Then a row sums to less than 1: the
            rest is the share of the sink.
    """
    if sinks is not None:
        batch, heads, queries, _ = masked_scores.shape
        sink = sinks.to(masked_scores.dtype)[:, None, None].expand(batch, heads, queries, 1)
        return torch.cat([masked_scores, sink], dim=-1).softmax(dim=-1)[..., :-1]  # step: weights
    # Without any key the softmax is 0/0. In all other rows this changes nothing: masked weights are 0 already.
    return masked_scores.softmax(dim=-1).masked_fill(masked_scores == float("-inf"), 0.0)  # step: weights


def additive_mask(mask: Tensor | None, bias: Tensor | None, dtype: torch.dtype) -> Tensor | None:
    """The mask of a fused kernel: what is added to the scores, or, without a bias, where a query may attend."""
    return mask if bias is None else mask_scores(bias.to(dtype), mask)


class MultiHeadAttention(nn.Module):
    """Multi-head attention ("Attention Is All You Need", section 3.2.2) with a hook point at every step."""

    def __init__(
        self,
        *,
        d_model: int,
        num_heads: int,
        dropout: float,
        kind: str = "scaled_dot_product",
        positions: LayerPositions | None = None,
        num_kv_heads: int | None = None,
        score_cap: float | None = None,
        sinks: bool = False,
    ) -> None:
        """Args:
        d_model: D.
        num_heads: H.
        dropout: Rate for the weights.
        kind: "scaled_dot_product" or "additive".
        positions: What rotates queries and keys, or adds to the scores for their distance; None does neither.
        num_kv_heads: G, the number of different keys and values. H / G heads share one (Ainslie et al. 2023).
        score_cap: The limit of the scores, see `cap_scores`.
        sinks: Each head has a sink, see `attention_weights`.

        Raises:
            ValueError: the numbers of heads do not divide each other or d_model.
        """
        super().__init__()
        kv_heads = num_kv_heads or num_heads
        if d_model % num_heads:
            raise ValueError(f"d_model ({d_model}) must be divisible by num_heads ({num_heads}).")
        if num_heads % kv_heads:
            raise ValueError(f"num_heads ({num_heads}) must be divisible by num_kv_heads ({kv_heads}).")
        self.num_heads, self.num_kv_heads, self.width = num_heads, kv_heads, d_model // num_heads
        self.score_cap = score_cap
        self.dropout = Dropout(dropout)
        self.positions = positions or LayerPositions()
        self.query_projection = nn.Linear(d_model, d_model)
        self.key_projection = nn.Linear(d_model, kv_heads * self.width)
        self.value_projection = nn.Linear(d_model, kv_heads * self.width)
        self.output_projection = nn.Linear(d_model, d_model)
        additive = kind == "additive"
        self.score_vector = nn.Parameter(torch.randn(num_heads, self.width) * self.width**-0.5) if additive else None
        self.sinks = nn.Parameter(0.02 * torch.randn(num_heads)) if sinks else None  # (H,), as small as in gpt-oss
        self.queries = HookPoint()  # (B, H, T, K)
        self.keys = HookPoint()  # (B, H, S, K)
        self.values = HookPoint()  # (B, H, S, K)
        self.bias = HookPoint()  # (B, H, T, S), in layers that add a number for each distance
        self.scores = HookPoint()  # (B, H, T, S)
        self.masked_scores = HookPoint()  # (B, H, T, S)
        self.weights = HookPoint()  # (B, H, T, S)
        self.head_outputs = HookPoint()  # (B, H, T, K)
        self.output = HookPoint()  # (B, T, D)

    def forward(
        self, x: Tensor, memory: Tensor | None = None, *, mask: Tensor | None = None, cache: KeyValue | None = None
    ) -> Tensor:
        """Attend from `x` to `memory`, or to `x` itself.

        Args:
            x: The queries are computed from it, (B, T, D).
            memory: The keys and values are computed from it, (B, S, D); None means self-attention.
            mask: Boolean, broadcast over (B, H, T, S), True = may attend. A query without any key gets the output 0.
            cache: Keys and values of earlier steps. Self-attention adds the keys and values of `x` after them.
                Cross-attention computes them from `memory` in the first step and does not read `memory` again. It has
                no positions: a query in the target and a key in the source have no distance.

        Returns:
            (B, T, D).
        """
        offset = cache.length if cache is not None and memory is None else 0
        projected = self.split_heads(self.query_projection(x))  # (B, H, T, K); step: query
        queries = self.queries(self.positions.rotate(projected, offset=offset))  # (B, H, T, K); step: query
        if cache is None:
            keys, values = self.keys_and_values(x if memory is None else memory)  # (B, H, S, K)
        elif memory is None:
            keys, values = cache.append(*self.keys_and_values(x, offset))
        else:
            keys, values = cache.once(partial(self.keys_and_values, memory))
        keys, values = self.for_each_head(keys), self.for_each_head(values)  # (B, H, S, K)
        bias = self.positions.bias(queries.size(2), keys.size(2), offset=offset)  # (1, H, T, S)
        attend = self.written_out if self.needs_steps or active_trace() is not None else self.fused
        heads = by_source(attend, queries, keys, values, mask, bias)  # (B, H, T, K)
        return self.output(self.output_projection(heads.transpose(1, 2).flatten(2)))  # (B, T, D); step: projection

    @property
    def needs_steps(self) -> bool:
        """Whether the fused kernels do not have what this layer computes."""
        return self.score_vector is not None or self.score_cap is not None or self.sinks is not None

    def keys_and_values(self, memory: Tensor, offset: int = 0) -> tuple[Tensor, Tensor]:
        """New keys and values (B, G, S, K); (B, H, S, K) for a trace, because an edit may change only some heads."""
        keys = self.positions.rotate(self.split_heads(self.key_projection(memory)), offset=offset)  # (B, G, S, K)
        values = self.split_heads(self.value_projection(memory))  # (B, G, S, K)
        if active_trace() is None:
            return keys, values
        return self.keys(self.for_each_head(keys)), self.values(self.for_each_head(values))

    def split_heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (-1, self.width)).transpose(1, 2)  # (B, H, T, K), keys and values (B, G, S, K)

    def for_each_head(self, x: Tensor) -> Tensor:
        """Keys or values (B, G, S, K) as each head uses them, (B, H, S, K)."""
        return for_heads(x, self.num_heads)

    def written_out(
        self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, bias: Tensor | None
    ) -> Tensor:
        """softmax(QKᵀ / √d_k) V ("Attention Is All You Need", equation 1), with each step at its hook point."""
        if bias is not None:
            bias = self.bias(bias.expand(queries.size(0), -1, -1, -1))  # (B, H, T, S)
        scores = attention_scores(queries, keys, cap=self.score_cap, bias=bias, vector=self.score_vector)
        masked = self.masked_scores(mask_scores(self.scores(scores), mask))  # (B, H, T, S); step: mask
        weights = self.weights(attention_weights(masked, self.sinks))  # step: weights
        return self.head_outputs(self.dropout(weights.to(values.dtype)) @ values)  # (B, H, T, K); step: weighted sum

    def fused(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, bias: Tensor | None) -> Tensor:
        """Compute the same in one operation."""
        rate = self.dropout.rate if self.training else 0.0
        # On a CPU, PyTorch's kernel has no dropout and takes ten times as long in bfloat16.
        if queries.device.type == "cpu" and (rate or queries.dtype == torch.bfloat16):
            return attend_on_cpu(queries, keys, values, mask, rate, bias)
        added = additive_mask(mask, bias, queries.dtype)
        return F.scaled_dot_product_attention(queries, keys, values, attn_mask=added, dropout_p=rate)

"""Mask and softmax as pure functions, and the multi-head layer that uses them. `scores.py` computes the scores.

Begin with `MultiHeadAttention.written_out`: equation 1, step by step. When no trace is active, `fused` computes the
same in one operation. This file knows nothing of tokens, of the screen, or of how masks are made. `model/__init__.py`
explains the letters of the shapes.
"""

from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.network.cache import KeyValue
from model.network.cpu_attention import attend_on_cpu
from model.network.dropout import Dropout
from model.network.positional import RotaryPositions
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
        sinks: One learned score for each head, (H,), or for each head of each batch row, (B, H); more rows are left
            out. It takes part in the softmax like the score of one more key without a value (gpt-oss, OpenAI 2025,
            section 2.3; Xiao et al. 2024). Then a row sums to less than 1: the rest is the share of the sink.
    """
    if sinks is not None:
        batch, heads, queries, _ = masked_scores.shape
        sink = sinks.to(masked_scores.dtype).view(-1, heads, 1, 1)[:batch].expand(batch, heads, queries, 1)
        return torch.cat([masked_scores, sink], dim=-1).softmax(dim=-1)[..., :-1]  # step: weights
    # Without any key the softmax is 0/0. In all other rows this changes nothing: masked weights are 0 already.
    return masked_scores.softmax(dim=-1).masked_fill(masked_scores == float("-inf"), 0.0)  # step: weights


class MultiHeadAttention(nn.Module):
    """Multi-head attention ("Attention Is All You Need", section 3.2.2) with a hook point at every step."""

    def __init__(
        self,
        *,
        d_model: int,
        num_heads: int,
        dropout: float,
        kind: str = "scaled_dot_product",
        positions: RotaryPositions | None = None,
    ) -> None:
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"d_model ({d_model}) must be divisible by num_heads ({num_heads}).")
        self.num_heads = num_heads
        self.dropout = Dropout(dropout)
        self.positions = positions
        self.query_projection = nn.Linear(d_model, d_model)
        self.key_projection = nn.Linear(d_model, d_model)
        self.value_projection = nn.Linear(d_model, d_model)
        self.output_projection = nn.Linear(d_model, d_model)
        width = d_model // num_heads
        additive = kind == "additive"
        self.score_vector = nn.Parameter(torch.randn(num_heads, width) * width**-0.5) if additive else None
        self.queries = HookPoint()  # (B, H, T, K)
        self.keys = HookPoint()  # (B, H, S, K)
        self.values = HookPoint()  # (B, H, S, K)
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
                no rotary positions.

        Returns:
            (B, T, D).
        """
        offset = cache.length if cache is not None and memory is None else 0
        projected = self.split_heads(self.query_projection(x))  # (B, H, T, K); step: query
        queries = self.queries(self.rotate(projected, offset))  # (B, H, T, K); step: query
        if cache is None:
            keys, values = self.keys_and_values(x if memory is None else memory)  # (B, H, S, K)
        elif memory is None:
            keys, values = cache.append(*self.keys_and_values(x, offset))
        else:
            keys, values = cache.once(partial(self.keys_and_values, memory), x.size(0))
        step_by_step = self.score_vector is not None or active_trace() is not None
        attend = self.written_out if step_by_step else self.fused
        heads = attend(queries, keys, values, mask)  # (B, H, T, K)
        return self.output(self.output_projection(heads.transpose(1, 2).flatten(2)))  # (B, T, D); step: projection

    def keys_and_values(self, memory: Tensor, offset: int = 0) -> tuple[Tensor, Tensor]:
        keys = self.keys(self.rotate(self.split_heads(self.key_projection(memory)), offset))  # (B, H, S, K)
        return keys, self.values(self.split_heads(self.value_projection(memory)))

    def split_heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)  # (B, H, T, K)

    def rotate(self, x: Tensor, offset: int = 0) -> Tensor:
        """Rotate queries or keys (B, H, T, K) by their positions, if the positions are rotary.

        Args:
            x: Queries or keys of positions `offset` … `offset + T - 1`.
            offset: Positions that are already in the cache.
        """
        return x if self.positions is None else self.positions(x, offset=offset)

    def written_out(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """softmax(QKᵀ / √d_k) V ("Attention Is All You Need", equation 1), with each step at its hook point."""
        scores = self.scores(attention_scores(queries, keys, vector=self.score_vector))  # (B, H, T, S)
        masked = self.masked_scores(mask_scores(scores, mask))  # step: mask
        weights = self.weights(attention_weights(masked))  # step: weights
        return self.head_outputs(self.dropout(weights.to(values.dtype)) @ values)  # (B, H, T, K); step: weighted sum

    def fused(self, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None) -> Tensor:
        """Compute the same in one operation."""
        rate = self.dropout.rate if self.training else 0.0
        # On a CPU, PyTorch's kernel has no dropout and takes ten times as long in bfloat16.
        if queries.device.type == "cpu" and (rate or queries.dtype == torch.bfloat16):
            return attend_on_cpu(queries, keys, values, mask, rate)
        return F.scaled_dot_product_attention(queries, keys, values, attn_mask=mask, dropout_p=rate)

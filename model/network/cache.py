"""Keys and values of earlier decoding steps, so that each step computes only its own token.

Self-attention adds one position per step. Cross-attention is computed once and then only read.
"""

from collections.abc import Callable

import torch
from torch import Tensor

__all__ = ["DecoderCache", "KeyValue", "by_source", "for_heads"]

Attend = Callable[[Tensor, Tensor, Tensor, Tensor | None, Tensor | None], Tensor]


class KeyValue:
    """Keys and values of one attention layer, (B, H, S, K) each, in a buffer that can grow.

    Where heads share keys and values, each is kept once, (B, G, S, K). A trace needs them for each head, because an
    edit may change only some heads. Then the cache has them for each head from its first traced step.
    """

    def __init__(self) -> None:
        self._buffer: Tensor | None = None  # (S, 2, B, H, K), so that positions and rows are copied in long pieces
        self.length = 0

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Add positions and return all of them."""
        start, self.length = self.length, self.length + keys.size(2)
        if self._buffer is None:
            self._buffer = torch.stack([keys, values]).permute(3, 0, 1, 2, 4)
            return self.stored()
        heads = max(keys.size(1), self._buffer.size(3))
        self._buffer = for_heads(self._buffer, heads, dim=3)
        if self.length > len(self._buffer):
            # Doubling keeps the cost per token constant.
            grown = self._buffer.new_empty(max(2 * self.length, 32), *self._buffer.shape[1:])
            grown[:start] = self._buffer[:start]
            self._buffer = grown
        for part, new in enumerate((keys, values)):
            self._buffer[start : self.length, part] = for_heads(new, heads).permute(2, 0, 1, 3)
        return self.stored()

    def stored(self) -> tuple[Tensor, Tensor]:
        """All keys and values so far."""
        assert self._buffer is not None
        keys, values = self._buffer[: self.length].permute(1, 2, 3, 0, 4)
        return keys, values

    def cut(self, length: int) -> None:
        """Forget the positions from `length` on. What others have of them stays, because new ones get new memory."""
        self.length = length
        self._buffer = None if self._buffer is None else self._buffer[:length]

    def once(self, compute: Callable[[], tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        """Call `compute` only the first time, and return its keys and values."""
        return self.append(*compute()) if self._buffer is None else self.stored()

    def select(self, rows: Tensor) -> None:
        """Keep the given batch rows, in the given order (a row may be kept more than once). No gradient passes."""
        if self._buffer is None:
            return
        length, parts, _, *shape = self._buffer.shape
        buffer = self._buffer.new_empty(length, parts, len(rows), *shape)
        torch.index_select(self._buffer[: self.length], 2, rows, out=buffer[: self.length])
        self._buffer = buffer


def for_heads(x: Tensor, heads: int, *, dim: int = 1) -> Tensor:
    """Keys or values (B, G, S, K), each as often as heads share it: (B, H, S, K). The heads are in dimension `dim`."""
    return x if x.size(dim) == heads else x.repeat_interleave(heads // x.size(dim), dim=dim)


def by_source(
    attend: Attend, queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, bias: Tensor | None
) -> Tensor:
    """Attention in which N neighbouring rows of queries (B·N, H, T, K) read the keys of one of B sources.

    The queries of neighbours become one longer row. No query depends on another one, so only rounding changes.

    Args:
        attend: Computes attention where each row has its own keys.
        queries: Of all rows.
        keys: (B, H, S, K).
        values: (B, H, S, K).
        mask: (B, 1, 1, S) where N > 1; see `MultiHeadAttention`.
        bias: None where N > 1.

    Returns:
        (B·N, H, T, K).
    """
    if len(keys) == len(queries):
        return attend(queries, keys, values, mask, bias)
    longer = queries.unflatten(0, (len(keys), -1)).transpose(1, 2).flatten(2, 3)  # (B, H, N·T, K)
    heads = attend(longer, keys, values, mask, bias)
    return heads.unflatten(2, (-1, queries.size(2))).transpose(1, 2).flatten(0, 1)


class DecoderCache:
    """One `KeyValue` for the self-attention and one for the cross-attention of each decoder layer."""

    shares_memory = True

    def __init__(self, num_layers: int) -> None:
        self.self_attention = [KeyValue() for _ in range(num_layers)]
        self.cross_attention = [KeyValue() for _ in range(num_layers)]

    @property
    def length(self) -> int:
        """Target positions that have been decoded."""
        return self.self_attention[0].length

    def cut(self, length: int) -> None:
        """Forget the target positions from `length` on."""
        for cache in self.self_attention:
            cache.cut(length)

    def select(self, rows: Tensor, *, sources: Tensor | None = None) -> None:
        """Keep and reorder the hypotheses of a beam search, see `Cache.select`."""
        for cache in self.self_attention:
            cache.select(rows)
        if sources is not None:
            for cache in self.cross_attention:
                cache.select(sources)

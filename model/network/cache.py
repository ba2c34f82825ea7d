"""Keys and values of earlier decoding steps, so that each step computes only its own token.

Self-attention adds one position per step. Cross-attention is computed once and then only read.
"""

from collections.abc import Callable

import torch.nn.functional as F
from torch import Tensor

__all__ = ["DecoderCache", "KeyValue", "for_heads"]


class KeyValue:
    """Keys and values of one attention layer, (B, H, S, K) each, in buffers that can grow.

    Where heads share keys and values, each is kept once, (B, G, S, K). A trace needs them for each head, because an
    edit may change only some heads. Then the cache has them for each head from its first traced step.
    """

    def __init__(self) -> None:
        self._keys: Tensor | None = None
        self._values: Tensor | None = None
        self.length = 0

    def append(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        """Add positions and return all of them."""
        start, self.length = self.length, self.length + keys.size(2)
        if self._keys is None or self._values is None:
            self._keys, self._values = keys, values
            return keys, values
        if keys.size(1) != self._keys.size(1):
            heads = max(keys.size(1), self._keys.size(1))
            self._keys, self._values = for_heads(self._keys, heads), for_heads(self._values, heads)
            keys, values = for_heads(keys, heads), for_heads(values, heads)
        if self.length > self._keys.size(2):
            # Doubling keeps the cost per token constant.
            room = max(2 * self.length, 32) - self._keys.size(2)
            self._keys, self._values = (F.pad(t, (0, 0, 0, room)) for t in (self._keys, self._values))
        self._keys[:, :, start : self.length] = keys
        self._values[:, :, start : self.length] = values
        return self._keys[:, :, : self.length], self._values[:, :, : self.length]

    def cut(self, length: int) -> None:
        """Forget the positions from `length` on. What others have of them stays, because new ones get new memory."""
        self.length = length
        if self._keys is not None and self._values is not None:
            self._keys, self._values = self._keys[:, :, :length], self._values[:, :, :length]

    def once(self, compute: Callable[[], tuple[Tensor, Tensor]]) -> tuple[Tensor, Tensor]:
        """Call `compute` only the first time, and return its keys and values."""
        if self._keys is None or self._values is None:
            self._keys, self._values = compute()
        return self._keys, self._values

    def select(self, rows: Tensor) -> None:
        """Keep the given batch rows, in the given order (a row may be kept more than once)."""
        if self._keys is not None and self._values is not None:
            self._keys = self._keys.index_select(0, rows)
            self._values = self._values.index_select(0, rows)


def for_heads(x: Tensor, heads: int) -> Tensor:
    """Keys or values (B, G, S, K), each as often as heads share it: (B, H, S, K)."""
    return x if x.size(1) == heads else x.repeat_interleave(heads // x.size(1), dim=1)


class DecoderCache:
    """One `KeyValue` for the self-attention and one for the cross-attention of each decoder layer."""

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

    def select(self, rows: Tensor, *, same_source: bool = False) -> None:
        """Keep and reorder the hypotheses of a beam search, see `KeyValue.select`."""
        for cache in self.self_attention if same_source else self.self_attention + self.cross_attention:
            cache.select(rows)

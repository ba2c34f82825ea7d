"""Every step of attention for one query, computed again from what was recorded.

`attend` is the only function that does so. `anatomy.py` calls it with one head in the precision of the recording, and
`compute` with all heads of a block in double precision.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.station import Followed, to_float64
from model.analysis.streams import FloatArray, head_matrices
from model.network.attention import attention_weights
from model.network.residual_stream import Block
from model.network.scores import attention_scores
from model.trace import hook_name

__all__ = ["AttentionSite", "AttentionValues", "attend", "compute", "mix_heads"]

Floats = NDArray[np.floating[Any]]


@dataclass(frozen=True, kw_only=True)
class AttentionSite:
    """One position in one attention block of a recorded text."""

    text: Followed
    block: Block
    position: int  # of the query, counted from 0

    @property
    def kind(self) -> str:
        """The kind of attention."""
        assert self.block.kind is not None
        return self.block.kind

    @property
    def scaling(self) -> float:
        """The factor of the products q·k."""
        return self.text.model.scaling(self.kind, self.block.layer)

    def hook(self, stage: str) -> str:
        """The name of a hook point of this block."""
        return hook_name(self.kind, self.block.layer, stage)

    def recorded(self, stage: str) -> FloatArray:
        """What the model computed at this position, in double precision."""
        return self.text.at(self.hook(stage), self.position)

    def all_keys(self, stage: str) -> FloatArray:
        """What the model computed at all keys, (H, S, K), in double precision."""
        return self.text.recording.array(self.hook(stage)).astype(np.float64)

    @property
    def cap(self) -> float | None:
        """The limit of the scores."""
        return self.text.model.score_cap(self.kind, self.block.layer)

    @property
    def sinks(self) -> Tensor | None:
        """The scores of the sinks, (H,)."""
        return self.text.model.sinks(self.kind, self.block.layer)

    @property
    def bias(self) -> FloatArray | None:
        """What is added to the scores (H, S) for the distance of query and key (T5, ALiBi); None without."""
        try:
            return self.recorded("bias")
        except KeyError:
            return None


@dataclass(frozen=True, kw_only=True)
class AttentionValues:
    """The results of the steps for one query."""

    query: Floats  # (H, K)
    products: Floats  # (H, S): the scores before the limit and the distance
    capped: Floats  # (H, S): after the limit, before the distance
    scores: Floats  # (H, S): with the number for the distance, divided by the temperature
    masked: Floats  # (H, S): minus infinity where the query may not attend
    weights: Floats  # (H, S)
    weighted_values: Floats  # (H, S, K)
    heads: Floats  # (H, K)


def attend(
    query: Floats,
    keys: Floats,
    values: Floats,
    *,
    allowed: NDArray[np.bool_],
    scaling: float,
    cap: float | None = None,
    bias: Floats | None = None,
    vector: Tensor | None = None,
    sinks: Tensor | None = None,
    temperature: float = 1.0,
) -> AttentionValues:
    """The steps of attention for one query, in the precision of the arrays.

    Args:
        query: (H, K).
        keys: (H, S, K).
        values: (H, S, K).
        allowed: False where the query may not attend, (S,) or (H, S).
        scaling: The factor of the products q·k.
        cap: The limit of the scores, see `cap_scores`.
        bias: What is added to the scores for the distance of query and key, (H, S).
        vector: One v for each head, (H, K): then the scores are additive.
        sinks: The scores of the sinks, (H,).
        temperature: The scores and those of the sinks are divided by it; models use 1.
    """
    # Recorded arrays cannot be written, and PyTorch wants a copy of such an array.
    asked, given = torch.tensor(query)[None, :, None], torch.tensor(keys)[None]  # (1, H, 1, K), (1, H, S, K)
    added = None if bias is None else torch.tensor(bias)[:, None]  # (H, 1, S)

    def scored(cap: float | None = None, bias: Tensor | None = None) -> Floats:
        scores = attention_scores(asked, given, scaling=scaling, cap=cap, bias=bias, vector=vector)
        found: Floats = scores[0, :, 0].numpy()
        return found

    scores = scored(cap, added) / query.dtype.type(temperature)
    masked = np.where(allowed, scores, query.dtype.type(-np.inf))
    divided = None if sinks is None else sinks / temperature
    weights: Floats = attention_weights(torch.from_numpy(masked)[None, :, None], divided)[0, :, 0].numpy()
    weighted_values = weights[:, :, None] * values
    return AttentionValues(
        query=query,
        products=scored(),
        capped=scored(cap),
        scores=scores,
        masked=masked,
        weights=weights,
        weighted_values=weighted_values,
        heads=weighted_values.sum(axis=1),
    )


def compute(site: AttentionSite, x: FloatArray) -> AttentionValues:
    """The steps of all heads in double precision, from `x` (D,) and the model's own keys, values and mask."""
    vector = site.block.score_vector
    return attend(
        compute_query(site, x),
        site.all_keys("keys"),
        site.all_keys("values"),
        allowed=~np.isneginf(site.recorded("masked_scores")),
        scaling=site.scaling,
        cap=site.cap,
        bias=site.bias,
        vector=None if vector is None else vector.cpu(),
        sinks=None if site.sinks is None else site.sinks.cpu(),
    )


def compute_query(site: AttentionSite, x: FloatArray) -> FloatArray:
    """The queries of all heads, (H, K). Those of another library are as recorded."""
    if site.block.query is None:
        return site.recorded("queries")
    return to_float64(site.block.query(torch.from_numpy(x), site.position))


def mix_heads(site: AttentionSite, heads: Floats) -> FloatArray:
    """The output of attention (D,), from the head outputs (H, K)."""
    matrices, bias = head_matrices(site.text.model, site.kind, site.block.layer, len(heads))
    output: FloatArray = np.einsum("hk,hkd->d", heads, matrices.numpy()) + bias.numpy()
    return output

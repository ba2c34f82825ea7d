"""Every step of attention for one query, computed again in double precision from what was recorded."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from model.analysis.station import Followed, to_float64
from model.analysis.streams import FloatArray, head_matrices
from model.network.attention import MultiHeadAttention, attention_weights
from model.network.own_model import OwnModel
from model.network.residual_stream import Block
from model.network.scores import attention_scores
from model.trace import hook_name

__all__ = ["AttentionSite", "AttentionValues", "compute"]


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
    def attention(self) -> MultiHeadAttention | None:
        """The module, if it is our own."""
        model = self.text.model
        module = model.get_submodule(self.block.name) if isinstance(model, OwnModel) else None
        return module if isinstance(module, MultiHeadAttention) else None

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
    def sinks(self) -> torch.Tensor | None:
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
    """The results of the steps for one query, in double precision."""

    query: FloatArray  # (H, K)
    products: FloatArray  # (H, S): the scores before the limit and the distance
    capped: FloatArray  # (H, S): after the limit, before the distance
    scores: FloatArray  # (H, S)
    masked: NDArray[np.bool_]  # (H, S): True where the query may not attend
    weights: FloatArray  # (H, S)
    heads: FloatArray  # (H, K)
    output: FloatArray  # (D,)


def compute(site: AttentionSite, x: FloatArray) -> AttentionValues:
    """The steps in double precision, from `x` (D,) and the model's own keys, values and mask."""
    keys, values = site.all_keys("keys"), site.all_keys("values")  # (H, S, K)
    query = compute_query(site, x)
    products = compute_scores(site, query, keys)
    capped = compute_scores(site, query, keys, cap=site.cap)
    scores = compute_scores(site, query, keys, cap=site.cap, bias=site.bias)
    masked = np.isneginf(site.recorded("masked_scores"))  # (H, S)
    masked_scores = torch.from_numpy(np.where(masked, -np.inf, scores))
    weights: FloatArray = attention_weights(masked_scores[None, :, None], site.sinks)[0, :, 0].numpy()  # (H, S)
    heads = np.einsum("hs,hsk->hk", weights, values)
    matrices, bias = head_matrices(site.text.model, site.kind, site.block.layer, len(heads))
    output = np.einsum("hk,hkd->d", heads, matrices.numpy()) + bias.numpy()
    return AttentionValues(
        query=query,
        products=products,
        capped=capped,
        scores=scores,
        masked=masked,
        weights=weights,
        heads=heads,
        output=output,
    )


def compute_query(site: AttentionSite, x: FloatArray) -> FloatArray:
    """The queries of all heads, (H, K). Those of another library are as recorded."""
    attention = site.attention
    if attention is None:
        return site.recorded("queries")
    projection = attention.query_projection
    query = to_float64(projection.weight) @ x + to_float64(projection.bias)  # (H·K,)
    by_head = torch.from_numpy(query).view(1, attention.num_heads, 1, -1)
    turned = attention.rotate(by_head.to(site.text.model.device), offset=site.position)
    return to_float64(turned[0, :, 0])


def compute_scores(
    site: AttentionSite,
    query: FloatArray,
    keys: FloatArray,
    *,
    cap: float | None = None,
    bias: FloatArray | None = None,
) -> FloatArray:
    """The scores of a query (H, K) with all keys (H, S, K), (H, S)."""
    attention = site.attention
    scores: FloatArray = attention_scores(
        torch.from_numpy(query)[None, :, None],
        torch.from_numpy(keys)[None],
        scaling=site.scaling,
        cap=cap,
        bias=None if bias is None else torch.from_numpy(bias)[:, None],
        vector=None if attention is None or attention.score_vector is None else attention.score_vector.detach().cpu(),
    )[0, :, 0].numpy()
    return scores

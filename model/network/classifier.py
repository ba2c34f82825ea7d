"""A text classifier: the Transformer's encoder, pooling into one vector, and a projection. Token ids in, logits out.

This file knows nothing of text, training or the screen.
"""

from typing import Literal

import torch
from torch import Tensor, nn

from model.config.model import ClassifierConfig
from model.network.attention import MultiHeadAttention
from model.network.description import describe_stack, matrix_of
from model.network.dropout import Dropout
from model.network.initial_weights import initialize
from model.network.masks import padding_mask
from model.network.own_model import OwnModel
from model.network.residual_stream import AttentionPooling as PoolingParts
from model.network.residual_stream import Stack
from model.network.transformer import Encoder
from model.trace import HookPoint, name_hook_points

__all__ = ["AttentionPooling", "Classifier", "MeanPooling"]


class AttentionPooling(nn.Module):
    """One learned query attends to every token. Its weights show which tokens the decision depends on.

    The pooling of Lin et al. 2017 ("A Structured Self-attentive Sentence Embedding"), with the heads of a Transformer.
    It has no sinks, limits or shared keys: all of its weight is for tokens.
    """

    def __init__(self, config: ClassifierConfig) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(config.d_model))
        self.attention = MultiHeadAttention(
            d_model=config.d_model, num_heads=config.num_heads, dropout=config.dropout, kind=config.attention
        )

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        queries = self.query.to(x.dtype).expand(x.size(0), 1, -1)  # (B, 1, D)
        pooled: Tensor = self.attention(queries, x, mask=mask)
        return pooled.squeeze(1)  # (B, D)

    def describe(self) -> PoolingParts:
        """Its parts. The model has it as `pooling`."""
        return PoolingParts(
            weights="pooling.attention.weights",
            values=matrix_of(self.attention.value_projection),
            output=matrix_of(self.attention.output_projection),
            pool=self,
        )


class MeanPooling(nn.Module):
    """The mean of the tokens that are not padding."""

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        kept = mask[:, 0, 0, :, None].to(x.dtype)  # (B, S, 1)
        return (x * kept).sum(dim=1) / kept.sum(dim=1)  # (B, D)


class Classifier(OwnModel):
    """Encoder, pooling, and a linear layer from the pooled vector to the classes."""

    config: ClassifierConfig
    task: Literal["classification"] = "classification"

    def __init__(self, config: ClassifierConfig, *, pad_id: int = 0) -> None:
        super().__init__()
        self.config = config
        self.pad_id = self.target_pad_id = pad_id
        self.encoder = Encoder(config, nn.Embedding(config.vocab_size, config.d_model, padding_idx=pad_id))
        self.pooling = AttentionPooling(config) if config.pooling == "attention" else MeanPooling()
        self.pooled = HookPoint()  # (B, D)
        self.dropout = Dropout(config.dropout)
        self.output_projection = nn.Linear(config.d_model, len(config.labels))
        self.logits = HookPoint()  # (B, C)
        initialize(self, config)
        name_hook_points(self)

    def stack(self, name: str = "encoder") -> Stack:
        """The description of the encoder and of the way from its states to the logits."""
        return describe_stack(
            "encoder",
            self.encoder,
            pooling=self.config.pooling,
            attention_pooling=self.pooling.describe() if isinstance(self.pooling, AttentionPooling) else None,
            output=self.output_projection,
            readout_code=(Classifier.forward,),
        )

    def forward(self, ids: Tensor) -> Tensor:
        """Logits (B, C) for token ids (B, S); short texts are padded with `pad_id`."""
        mask = padding_mask(ids, self.pad_id)
        pooled = self.pooled(self.pooling(self.encoder(ids, mask=mask), mask))  # (B, D)
        return self.logits(self.output_projection(self.dropout(pooled)))

"""The encoder-decoder Transformer of "Attention Is All You Need" (Vaswani et al. 2017). Token ids in, logits out.

This file knows nothing of text, training or the screen.
"""

import math

import torch
from torch import Tensor, nn

from model.config.model import LayersConfig, ModelConfig
from model.network.cache import DecoderCache
from model.network.description import describe_stack
from model.network.device import working_dtype
from model.network.dropout import Dropout
from model.network.initial_weights import initialize
from model.network.layers import DecoderLayer, EncoderLayer, make_layer_positions
from model.network.masks import causal_mask, decoder_mask, padding_mask
from model.network.own_model import Translator, token_embeddings
from model.network.positional import (
    FixedPositions,
    LearnedPositions,
    PositionalEncoding,
    SinusoidalPositions,
)
from model.network.protocols import Cache
from model.network.residual_stream import Code, Stack
from model.trace import HookPoint, name_hook_points

__all__ = ["Decoder", "Embedding", "Encoder", "Transformer"]


def make_positions(config: LayersConfig) -> PositionalEncoding | None:
    """The vectors that are added to the embeddings; None where the layers use positions in another way."""
    if config.positional == "learned":
        return LearnedPositions(max_length=config.max_length, d_model=config.d_model)
    if config.positional == "sinusoidal":
        return SinusoidalPositions(max_length=config.max_length, d_model=config.d_model)
    return FixedPositions(torch.zeros(config.max_length, config.d_model)) if config.positional == "table" else None


class Embedding(nn.Module):
    """Token vector × √d_model + position ("Attention Is All You Need", sections 3.4 and 3.5)."""

    def __init__(self, config: LayersConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        self.tokens = tokens
        self.positions = make_positions(config)
        self.scale = math.sqrt(config.d_model)
        self.dropout = Dropout(config.dropout)
        self.token_vectors = HookPoint()  # (B, T, D)
        self.sum = HookPoint()  # (B, T, D)

    def embed(self, ids: Tensor) -> Tensor:
        """The scaled token vectors, (B, T, D)."""
        vectors: Tensor = self.tokens(ids)
        return vectors * self.scale  # step: token

    @property
    def code(self) -> Code:
        """The functions that compute the sum."""
        added = () if self.positions is None else (PositionalEncoding.forward,)
        return (Embedding.embed, Embedding.forward, *added)

    def forward(self, ids: Tensor, *, offset: int = 0) -> Tensor:
        vectors = self.token_vectors(self.embed(ids))  # (B, T, D)
        x = self.sum(vectors if self.positions is None else self.positions(vectors, offset=offset))
        # With autocast the residual stream has 16 bits too: a small model spends most of its time on moving it.
        return self.dropout(x.to(working_dtype(x)))


class Encoder(nn.Module):
    """Reads the source."""

    def __init__(self, config: LayersConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        self.embedding = Embedding(config, tokens)
        positions = make_layer_positions(config, both_sides=True)
        self.layers = nn.ModuleList(EncoderLayer(config, positions) for _ in range(config.num_encoder_layers))
        self.norm = nn.LayerNorm(config.d_model) if config.norm == "pre" else nn.Identity()
        self.states = HookPoint()  # (B, S, D), what cross-attention or the pooling reads

    def forward(self, ids: Tensor, *, mask: Tensor) -> Tensor:
        x = self.embedding(ids)  # (B, S, D)
        for layer in self.layers:
            x = layer(x, mask=mask)
        return self.states(self.norm(x))


class Decoder(nn.Module):
    """Writes the target and attends to the encoder's memory."""

    def __init__(self, config: ModelConfig, tokens: nn.Embedding) -> None:
        super().__init__()
        self.embedding = Embedding(config, tokens)
        positions = make_layer_positions(config, both_sides=False)
        self.layers = nn.ModuleList(DecoderLayer(config, positions) for _ in range(config.num_decoder_layers))
        self.norm = nn.LayerNorm(config.d_model) if config.norm == "pre" else nn.Identity()
        self.states = HookPoint()  # (B, T, D), what the output projection reads

    def forward(
        self,
        ids: Tensor,
        memory: Tensor,
        *,
        self_mask: Tensor | None,
        cross_mask: Tensor | None,
        cache: DecoderCache | None = None,
    ) -> Tensor:
        x = self.embedding(ids, offset=cache.length if cache else 0)  # (B, T, D)
        for index, layer in enumerate(self.layers):
            x = layer(
                x,
                memory,
                self_mask=self_mask,
                cross_mask=cross_mask,
                self_cache=cache.self_attention[index] if cache else None,
                cross_cache=cache.cross_attention[index] if cache else None,
            )
        return self.states(self.norm(x))


class Transformer(Translator):
    """Encoder, decoder and the projection to the vocabulary."""

    config: ModelConfig
    reads_ahead = True

    def __init__(self, config: ModelConfig, *, pad_id: int = 0, target_pad_id: int | None = None) -> None:
        """Args:
        config: The sizes.
        pad_id: The id of padding.
        target_pad_id: Of the target, if its vocabulary has another id.
        """
        super().__init__()
        self.config = config
        self.pad_id = pad_id
        self.target_pad_id = pad_id if target_pad_id is None else target_pad_id
        source, target = token_embeddings(config, pad_id, self.target_pad_id)
        self.encoder = Encoder(config, source)
        self.decoder = Decoder(config, target)
        self.output_projection = nn.Linear(config.d_model, config.target_vocab_size, bias=False)
        self.logits = HookPoint()  # (B, T, V)
        initialize(self, config)
        if config.tie_embeddings != "none":
            self.output_projection.weight = target.weight
        name_hook_points(self)

    def start_cache(self) -> DecoderCache:
        return DecoderCache(self.config.num_decoder_layers)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        mask = padding_mask(source, self.pad_id)
        return self.encoder(source, mask=mask), mask

    def target_states(
        self, target: Tensor, memory: Tensor, cross_mask: Tensor | None, *, cache: Cache | None = None
    ) -> Tensor:
        assert cache is None or isinstance(cache, DecoderCache)
        length = target.size(1)
        if cache is None:
            self_mask: Tensor | None = decoder_mask(target, self.target_pad_id)
        elif length == 1:
            self_mask = None  # the newest token may attend to every earlier token
        else:
            self_mask = causal_mask(length, past=cache.length, device=target.device)
        return self.decoder(target, memory, self_mask=self_mask, cross_mask=cross_mask, cache=cache)

    def stack(self, name: str) -> Stack:
        if name == "encoder":
            return describe_stack("encoder", self.encoder)
        return describe_stack(
            "decoder", self.decoder, output=self.output_projection, readout_code=(Transformer.project,)
        )

    def project(self, states: Tensor) -> Tensor:
        return self.logits(self.output_projection(states))  # (B, T, V); step: logits

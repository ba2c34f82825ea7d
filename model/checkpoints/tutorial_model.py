"""Our Transformer with the differences that tutorials have, and a decoder alone, for the weights of a file."""

import math
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Literal

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.checkpoints.description import DecoderDescription, Description, TranslatorDescription
from model.checkpoints.layouts import NormForm
from model.checkpoints.saved_positions import Positions
from model.config.foreign import ForeignSizes, longest_text
from model.config.model import DecoderSizes, LayersConfig, ModelConfig
from model.network.cache import DecoderCache
from model.network.description import describe_stack
from model.network.layers import EncoderLayer
from model.network.masks import causal_mask, padding_mask
from model.network.norms import SampleNorm
from model.network.own_model import OwnModel
from model.network.positional import (
    FixedPositions,
    LayerPositions,
    LearnedPositions,
    PositionalEncoding,
    RotaryPositions,
    SinusoidalPositions,
)
from model.network.protocols import Cache, Padding
from model.network.residual_stream import Stack
from model.network.transformer import Embedding, Transformer
from model.trace import HookPoint, name_hook_points

__all__ = ["TutorialDecoder", "make_model", "shown_sizes", "take"]

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "relu": F.relu,
    "gelu": F.gelu,
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "silu": F.silu,
}


class TutorialTransformer(Transformer):
    """An encoder-decoder."""

    def __init__(self, config: ModelConfig, described: TranslatorDescription) -> None:
        super().__init__(config, pad_id=described.source.pad_id, target_pad_id=described.target.pad_id)
        if described.final_norm:
            self.encoder.norm, self.decoder.norm = nn.LayerNorm(config.d_model), nn.LayerNorm(config.d_model)
        replace_norms(self, described.names.norm)
        if described.output_bias:
            self.output_projection = nn.Linear(config.d_model, config.target_vocab_size)
        if not described.scale_embeddings:
            self.encoder.embedding.scale = self.decoder.embedding.scale = 1.0
        self.filled = len(described.specials.fill)

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        # Trained without a padding mask, it reads the padding of a short text. That of a batch is no part of the text.
        mask = padding_mask(source, self.pad_id) | (torch.arange(source.size(1), device=source.device) < self.filled)
        return self.encoder(source, mask=mask), mask


class TutorialDecoder(OwnModel):
    """A decoder alone. It `Writes`, and it `ReadsBatches`."""

    task: Literal["continuation"] = "continuation"
    reads_ahead = True
    pad_id = target_pad_id = -1  # a search reads one prompt at a time, so there is no padding
    padding = Padding(id=0, side="right")

    def __init__(self, sizes: DecoderSizes, norm: NormForm) -> None:
        super().__init__()
        self.config = shown_sizes(sizes)
        self.decoder = CausalStack(sizes)
        self.output_projection = nn.Linear(sizes.d_model, sizes.vocab_size)
        self.logits = HookPoint()  # (B, T, V)
        replace_norms(self, norm, rms=sizes.rms_norm)
        name_hook_points(self)

    def start_cache(self) -> DecoderCache:
        return DecoderCache(len(self.decoder.layers))

    def encode(self, source: Tensor) -> tuple[Tensor, Tensor]:
        # There is no encoder: `decode` needs only the tokens that it reads.
        return source, torch.ones_like(source, dtype=torch.bool)[:, None, None]

    def decode(
        self,
        target: Tensor,
        memory: Tensor,
        cross_mask: Tensor | None,
        *,
        cache: Cache | None = None,
        first: int = 0,
    ) -> Tensor:
        assert cache is None or isinstance(cache, DecoderCache)
        past = 0 if cache is None else cache.length
        newest = cache is not None and target.size(1) == 1  # it may attend to every earlier token
        mask = None if newest else causal_mask(target.size(1), past=past, device=target.device)
        return self.project(self.decoder(target, mask=mask, cache=cache)[:, first:])

    def batch_logits(self, ids: Tensor, real: Tensor) -> Tensor:
        """See `ReadsBatches`."""
        mask = real[:, None, None] & causal_mask(ids.size(1), device=ids.device)
        return self.project(self.decoder(ids, mask=mask, places=(real.cumsum(dim=-1) - 1).clamp(min=0)))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return self.decode(target, *self.encode(source))

    def project(self, states: Tensor) -> Tensor:
        """From states (B, T, D) to logits (B, T, V)."""
        return self.logits(self.output_projection(states))

    def position_table(self) -> Tensor | None:
        positions = self.decoder.embedding.positions
        return None if positions is None else positions.table.detach()

    def stack(self, name: str) -> Stack:
        if name != "decoder":
            return super().stack(name)
        return describe_stack(
            "decoder", self.decoder, output=self.output_projection, readout_code=(TutorialDecoder.project,)
        )


class CausalStack(nn.Module):
    """Embedding, layers and perhaps a last norm. A token attends to itself and to earlier tokens."""

    def __init__(self, sizes: DecoderSizes) -> None:
        super().__init__()
        names = ("d_model", "num_heads", "num_kv_heads", "d_ff", "max_length", "norm", "positional")
        config = LayersConfig(dropout=0.0, **{name: getattr(sizes, name) for name in names})
        self.embedding = Embedding(config, nn.Embedding(sizes.vocab_size, sizes.d_model))
        self.embedding.scale = math.sqrt(sizes.d_model) if sizes.scale_embeddings else 1.0
        positions = LayerPositions()
        if sizes.positional == "rotary":
            width = sizes.d_model // sizes.num_heads
            positions = RotaryPositions(max_length=sizes.max_length, width=width, base=sizes.rotary_base)
        self.layers = nn.ModuleList(EncoderLayer(config, positions) for _ in range(sizes.num_decoder_layers))
        for layer in self.layers:
            layer.set_submodule("feed_forward", FeedForward(sizes))
        self.norm = nn.LayerNorm(sizes.d_model) if sizes.final_norm else nn.Identity()
        self.states = HookPoint()  # (B, T, D)

    def forward(
        self, ids: Tensor, *, mask: Tensor | None, cache: DecoderCache | None = None, places: Tensor | None = None
    ) -> Tensor:
        """From token ids (B, T) to states (B, T, D).

        Args:
            ids: The tokens.
            mask: See `MultiHeadAttention`.
            cache: Of earlier tokens.
            places: The position of each token (B, T), where rows are padded on the left. Rotary positions do not need
                them, because only distances count.
        """
        if places is None or self.embedding.positions is None:
            x = self.embedding(ids, offset=cache.length if cache else 0)
        else:
            vectors = self.embedding.token_vectors(self.embedding.embed(ids))
            x = self.embedding.sum(vectors + self.embedding.positions.table[places])
        for index, layer in enumerate(self.layers):
            assert isinstance(layer, EncoderLayer)
            kept = cache.self_attention[index] if cache else None
            x = layer.self_attention_residual(x, partial(layer.self_attention, mask=mask, cache=kept))
            x = layer.feed_forward_residual(x, layer.feed_forward)
        return self.states(self.norm(x))


class FeedForward(nn.Module):
    """Two matrices with an activation between them, or three with a gate (Shazeer 2020)."""

    def __init__(self, sizes: DecoderSizes) -> None:
        super().__init__()
        self.expand = nn.Linear(sizes.d_model, sizes.d_ff)
        self.gate = nn.Linear(sizes.d_model, sizes.d_ff) if sizes.gated else None
        self.contract = nn.Linear(sizes.d_ff, sizes.d_model)
        self.activation = ACTIVATIONS[sizes.activation]
        self.units = HookPoint()  # (B, T, F)

    def forward(self, x: Tensor) -> Tensor:
        inner = self.expand(x)  # (B, T, F); step: expand
        units = self.activation(inner) if self.gate is None else self.activation(self.gate(x)) * inner
        return self.contract(self.units(units))  # (B, T, D); step: contract


def make_model(described: Description, sizes: ModelConfig | DecoderSizes) -> TutorialTransformer | TutorialDecoder:
    """The model of a description, with other sizes, before it takes its weights."""
    if isinstance(described, DecoderDescription):
        assert isinstance(sizes, DecoderSizes)
        return TutorialDecoder(sizes, described.names.norm)
    assert isinstance(described, TranslatorDescription)
    assert isinstance(sizes, ModelConfig)
    return TutorialTransformer(sizes, described)


def shown_sizes(sizes: DecoderSizes) -> ForeignSizes:
    """The sizes of a decoder alone, with the names that all models use."""
    layers = sizes.num_decoder_layers
    return ForeignSizes(
        d_model=sizes.d_model,
        num_heads=sizes.num_heads,
        layers={"decoder": layers},
        max_length=min(sizes.max_length, longest_text(layers, sizes.num_heads)),
        source_vocab_size=sizes.vocab_size,
        target_vocab_size=sizes.vocab_size,
        positional=sizes.positional,
    )


def replace_norms(model: nn.Module, form: NormForm, *, rms: bool = False) -> None:
    """Give all norms of a model another form. `rms`: Zhang and Sennrich 2019."""
    kind: Any = nn.RMSNorm if rms else SampleNorm if form.deviation == "sample" else nn.LayerNorm
    for name, module in list(model.named_modules()):
        if isinstance(module, nn.LayerNorm):
            model.set_submodule(name, kind(module.normalized_shape, eps=form.epsilon))


@torch.no_grad()
def take(
    model: TutorialTransformer | TutorialDecoder,
    weights: Mapping[str, Tensor],
    absent: frozenset[str],
    positions: Mapping[str, Positions],
) -> None:
    """Take the weights of a file.

    Args:
        model: The model.
        weights: Name of a parameter → its values, which may need to be broadcast.
        absent: Biases that the file does not have. They are 0 and no parameters.
        positions: Stack → its positions.
    """
    for stack, found in positions.items():
        embedding = model.get_submodule(f"{stack}.embedding")
        assert isinstance(embedding, Embedding)
        embedding.positions = module_of(found)
    for name, parameter in list(model.named_parameters(remove_duplicate=False)):
        if name in weights:
            parameter.copy_(weights[name])
    for name in absent:
        module = model.get_submodule(name.rpartition(".")[0])
        zeros = torch.zeros_like(module.get_parameter("bias"))
        del module.bias
        module.register_buffer("bias", zeros, persistent=False)


def module_of(positions: Positions) -> PositionalEncoding:
    table, (length, d_model) = positions.table, positions.table.shape
    if positions.kind == "learned":
        learned = LearnedPositions(max_length=length, d_model=d_model)
        learned.embedding.data.copy_(table)
        return learned
    if positions.kind == "table":
        return FixedPositions(table)
    waves = SinusoidalPositions(max_length=length, d_model=d_model)
    waves.get_buffer("vectors").copy_(table)
    return waves

"""Value zeroing: a second measure of how much each token influences a layer of the decoder (Mohebbi et al. 2023).

The value vectors of one token are set to zero in one attention sublayer, and the rest of the layer runs again. The
cosine distance shows how far the output at each position moves. Unlike ALTI+, this includes the feed-forward network,
and each layer is measured alone.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.streams import FloatArray, require_transformer
from model.checkpoints.checkpoint import Checkpoint
from model.config.model import ModelConfig
from model.config.section import ConfigError
from model.decoding.decoder_state import NOTHING_FORCED
from model.inference.translate import record_translation
from model.network.layers import DecoderLayer
from model.network.masks import causal_mask
from model.trace import Edit, hook_name, tracing

__all__ = ["Zeroing", "value_zeroing"]

MAX_PRODUCTS = 1 << 36  # multiplications for one text, a few seconds on one core
MAX_TENSOR_SIZE = 1 << 22  # numbers in the largest tensor of a batch, 16 MB


@dataclass(frozen=True, kw_only=True)
class Zeroing:
    """How far the output of each decoder layer moves at each position, as a cosine distance."""

    source: NDArray[np.float32]  # (L, T, S): without the value of a source token
    target: NDArray[np.float32]  # (L, T, T): without the value of a target token that was read
    residual: float  # with nothing zeroed, the largest difference of a layer's output from the model's own

    @property
    def shares(self) -> NDArray[np.float32]:
        """The share of the source tokens in all distances, (L, T); 0.5 where nothing moves."""
        source, target = self.source.sum(axis=-1), self.target.sum(axis=-1)
        whole = source + target
        return np.where(whole > 0, source / np.where(whole > 0, whole, 1), np.float32(0.5)).astype(np.float32)


@torch.inference_mode()
def value_zeroing(checkpoint: Checkpoint, text: str, *, forced: Mapping[int, int] = NOTHING_FORCED) -> Zeroing:
    """Zero the value of one token at a time in each decoder layer.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        text: Any text.
        forced: Position → target id that is written there, whatever its probability.

    Raises:
        ConfigError: the model is not one of our Transformers, or the text is too long.
    """
    model = require_transformer(checkpoint)
    layers = range(model.config.num_decoder_layers)
    streams = ["decoder.embedding.sum", *(f"decoder.layers.{i}.feed_forward_residual.stream" for i in layers)]
    last = f"encoder.layers.{model.config.num_encoder_layers - 1}.feed_forward_residual.stream"
    _, recording = record_translation(checkpoint, text, record=(*streams, last), forced=forced)
    device = model.device
    states = [torch.from_numpy(recording.array(name))[None].to(device) for name in (*streams, last)]  # (1, T or S, D)
    memory = model.encoder.norm(states.pop())
    target_length, source_length = states[0].size(1), memory.size(1)
    require_short(model.config, target_length, source_length)
    mask = causal_mask(target_length, device=device)
    rows = rows_per_batch(model.config, target_length, source_length)
    sources, targets, differences = list[FloatArray](), list[FloatArray](), list[float]()
    for index, layer in enumerate(model.decoder.layers):
        assert isinstance(layer, DecoderLayer)
        x, output = states[index : index + 2]
        differences.append(float((run(layer, x, memory, mask, rows=1) - output).abs().max()))
        for kind, keys, distances in (("decoder", target_length, targets), ("cross", source_length, sources)):
            name = hook_name(kind, index, "values")
            distances.append(distances_without_keys(layer, x, memory, mask, name, keys=keys, rows=rows))
    return Zeroing(
        source=np.stack(sources).astype(np.float32),
        target=np.stack(targets).astype(np.float32),
        residual=max(differences),
    )


def require_short(config: ModelConfig, target_length: int, source_length: int) -> None:
    """Refuse a text that would take too long.

    Raises:
        ConfigError: the layers need more than `MAX_PRODUCTS` multiplications.
    """
    width, keys = config.d_model, target_length + source_length
    target_products = target_length * (6 * width**2 + 2 * width * config.d_ff + 2 * width * keys)
    products = config.num_decoder_layers * keys * (target_products + 2 * source_length * width**2)
    if products > MAX_PRODUCTS:
        raise ConfigError(
            f"A source of {source_length} tokens and a translation of {target_length} tokens are too long for value "
            f"zeroing. They need {products / 1e9:,.0f} billion multiplications; the limit is {MAX_PRODUCTS / 1e9:,.0f} "
            "billion. Shorten the sentence."
        )


def rows_per_batch(config: ModelConfig, target_length: int, source_length: int) -> int:
    """How many copies of the text fit into one batch, at least one."""
    length = max(target_length, source_length)
    width = max(config.d_model, config.d_ff, config.num_heads * length)
    return max(1, MAX_TENSOR_SIZE // (length * width))


def run(layer: DecoderLayer, x: Tensor, memory: Tensor, mask: Tensor, *, rows: int) -> Tensor:
    """The layer's output for a batch of equal rows, (rows, T, D)."""
    source = memory.expand(rows, -1, -1)
    output: Tensor = layer(x.expand(rows, -1, -1), source, self_mask=mask, cross_mask=None)
    return output


def distances_without_keys(
    layer: DecoderLayer, x: Tensor, memory: Tensor, mask: Tensor, name: str, *, keys: int, rows: int
) -> FloatArray:
    """How far the output at each position moves without the value of each key: 1 − cosine, (T, keys).

    Args:
        layer: Of the decoder.
        x: Its input, (1, T, D).
        memory: The encoder's output, (1, S, D).
        mask: The causal mask.
        name: Of the hook point of the values.
        keys: How many keys there are.
        rows: How many of them are zeroed in one batch.
    """
    unchanged = run(layer, x, memory, mask, rows=1).double()

    def distances() -> Iterator[Tensor]:
        for first in range(0, keys, rows):
            count = min(rows, keys - first)
            with tracing(record=(), edits={name: without_each(first)}):
                changed = run(layer, x, memory, mask, rows=count)
            yield 1 - torch.cosine_similarity(unchanged, changed.double(), dim=-1)  # (count, T)

    return torch.cat(list(distances())).clamp_min(0).T.cpu().numpy()


def without_each(first: int) -> Edit:
    """An edit for `*.values` (B, H, S, K) that zeroes key `first` + j in row j of the batch."""

    def edit(values: Tensor) -> Tensor:
        rows = torch.arange(values.size(0), device=values.device)
        zeroed = values.clone()
        zeroed[rows, :, first + rows] = 0.0
        return zeroed

    return edit

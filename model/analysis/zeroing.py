"""Value zeroing: a second opinion on what a layer of the decoder makes of what it read (Mohebbi et al. 2023).

One token's value vectors are set to zero in one attention, the rest of the layer is computed again, and the cosine
distance says how far the output of each place moved. Unlike ALTI+ this includes the feed-forward, and each layer stands
alone.
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

MOST_PRODUCTS = 1 << 36  # multiplications that one text may cost, some seconds of a processor
MOST_NUMBERS = 1 << 22  # of the largest tensor of a batch, 16 MB


@dataclass(frozen=True, kw_only=True)
class Zeroing:
    """Of each layer of the decoder."""

    source: NDArray[np.float32]  # (L, T, S): how far each place moves without the value of a source token
    target: NDArray[np.float32]  # (L, T, T): of a token that was read
    residual: float  # the largest difference of a layer's output, computed here with nothing zeroed, from the model's

    @property
    def shares(self) -> NDArray[np.float32]:
        """How much of all that moves a place is the source's, (L, T); half where nothing moves it."""
        ours, others = self.source.sum(axis=-1), self.target.sum(axis=-1)
        whole = ours + others
        return np.where(whole > 0, ours / np.where(whole > 0, whole, 1), np.float32(0.5)).astype(np.float32)


@torch.inference_mode()
def value_zeroing(checkpoint: Checkpoint, text: str, *, forced: Mapping[int, int] = NOTHING_FORCED) -> Zeroing:
    """Zero one value after the other in each layer of the decoder, while a translation is written.

    Raises:
        ConfigError: the model's stream cannot be followed, or the text is too long.
    """
    model = require_transformer(checkpoint)
    layers = range(model.config.num_decoder_layers)
    streams = ["decoder.embedding.sum", *(f"decoder.layers.{i}.feed_forward_residual.stream" for i in layers)]
    last = f"encoder.layers.{model.config.num_encoder_layers - 1}.feed_forward_residual.stream"
    _, recording = record_translation(checkpoint, text, record=(*streams, last), forced=forced)
    device = next(model.parameters()).device
    states = [torch.from_numpy(recording.array(name))[None].to(device) for name in (*streams, last)]  # (1, T or S, D)
    memory = model.encoder.norm(states.pop())
    written, read = states[0].size(1), memory.size(1)
    require_short(model.config, written, read)
    mask = causal_mask(written, device=device)
    rows = rows_at_once(model.config, written, read)
    sources, targets, differences = list[FloatArray](), list[FloatArray](), list[float]()
    for index, layer in enumerate(model.decoder.layers):
        assert isinstance(layer, DecoderLayer)
        x, wrote = states[index : index + 2]
        differences.append(float((run(layer, x, memory, mask, rows=1) - wrote).abs().max()))
        for kind, keys, found in (("decoder", written, targets), ("cross", read, sources)):
            found.append(moved(layer, x, memory, mask, hook_name(kind, index, "values"), keys=keys, rows=rows))
    return Zeroing(
        source=np.stack(sources).astype(np.float32),
        target=np.stack(targets).astype(np.float32),
        residual=max(differences),
    )


def require_short(config: ModelConfig, written: int, read: int) -> None:
    """Raises ConfigError where the layers would have to be computed too often over too many tokens."""
    width, attended = config.d_model, written + read
    row = written * (6 * width**2 + 2 * width * config.d_ff + 2 * width * attended) + 2 * read * width**2
    products = config.num_decoder_layers * attended * row
    if products > MOST_PRODUCTS:
        raise ConfigError(
            f"A source of {read} tokens and a translation of {written} tokens are too long for value zeroing. They "
            f"need {products / 1e9:,.0f} billion multiplications; the limit is {MOST_PRODUCTS / 1e9:,.0f} billion. "
            "Shorten the sentence."
        )


def rows_at_once(config: ModelConfig, written: int, read: int) -> int:
    """How many equal rows a batch may have, at least one."""
    wide = max(config.d_model, config.d_ff, config.num_heads * max(written, read))
    return max(1, MOST_NUMBERS // (max(written, read) * wide))


def run(layer: DecoderLayer, x: Tensor, memory: Tensor, mask: Tensor, *, rows: int) -> Tensor:
    """The layer's output for a batch of so many equal rows, (rows, T, D)."""
    read = memory.expand(rows, -1, -1)
    output: Tensor = layer(x.expand(rows, -1, -1), read, self_mask=mask, cross_mask=None)
    return output


def moved(
    layer: DecoderLayer, x: Tensor, memory: Tensor, mask: Tensor, name: str, *, keys: int, rows: int
) -> FloatArray:
    """How far each place moves without the value of each key at a hook point: 1 − cosine, (T, keys).

    Args:
        layer: Of the decoder.
        x: What it reads, (1, T, D).
        memory: Of the encoder, (1, S, D).
        mask: The causal one.
        name: Of the hook point of the values.
        keys: How many there are.
        rows: How many of them are zeroed in one batch.
    """
    kept = run(layer, x, memory, mask, rows=1).double()

    def distances() -> Iterator[Tensor]:
        for first in range(0, keys, rows):
            count = min(rows, keys - first)
            with tracing(record=(), edits={name: without_each(first)}):
                changed = run(layer, x, memory, mask, rows=count)
            yield 1 - torch.cosine_similarity(kept, changed.double(), dim=-1)  # (count, T)

    return torch.cat(list(distances())).clamp_min(0).T.cpu().numpy()


def without_each(first: int) -> Edit:
    """An edit for `*.values` (B, H, S, K): row j of the batch loses key `first` + j."""

    def edit(values: Tensor) -> Tensor:
        rows = torch.arange(values.size(0), device=values.device)
        zeroed = values.clone()
        zeroed[rows, :, first + rows] = 0.0
        return zeroed

    return edit

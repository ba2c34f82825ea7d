"""Value zeroing: a second opinion on what a layer of the decoder makes of what it read (Mohebbi et al. 2023).

One token's value vectors are set to zero in one attention, everything else of the layer is computed anew, and the
cosine distance says how far each place's output moved. Unlike ALTI+ this sees the feed-forward, and each layer for
itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.streams import FloatArray, streams_of
from model.checkpoint import Checkpoint
from model.decoding.decode import NOTHING_FORCED
from model.inference.translate import record_translation
from model.network.layers import DecoderLayer
from model.network.masks import causal_mask
from model.trace import hook_name, tracing

__all__ = ["Zeroing", "value_zeroing"]


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
        ConfigError: the model's stream cannot be followed.
    """
    model = streams_of(checkpoint)
    layers = range(model.config.num_decoder_layers)
    streams = ["decoder.embedding.sum", *(f"decoder.layers.{i}.feed_forward_residual.stream" for i in layers)]
    last = f"encoder.layers.{model.config.num_encoder_layers - 1}.feed_forward_residual.stream"
    _, recording = record_translation(checkpoint, text, record=(*streams, last), forced=forced)
    device = next(model.parameters()).device
    states = [torch.from_numpy(recording.array(name))[None].to(device) for name in (*streams, last)]  # (1, T or S, D)
    memory = model.encoder.norm(states.pop())
    mask = causal_mask(states[0].size(1), device=device)
    sources, targets, differences = [], [], []
    for index, layer in enumerate(model.decoder.layers):
        assert isinstance(layer, DecoderLayer)
        x, wrote = states[index : index + 2]
        differences.append(float((run(layer, x, memory, mask, rows=1) - wrote).abs().max()))
        targets.append(moved(layer, x, memory, mask, hook_name("decoder", index, "values"), keys=x.size(1)))
        sources.append(moved(layer, x, memory, mask, hook_name("cross", index, "values"), keys=memory.size(1)))
    return Zeroing(
        source=np.stack(sources).astype(np.float32),
        target=np.stack(targets).astype(np.float32),
        residual=max(differences),
    )


def run(layer: DecoderLayer, x: Tensor, memory: Tensor, mask: Tensor, *, rows: int) -> Tensor:
    """The layer's output for a batch of so many equal rows, (rows, T, D)."""
    read = memory.expand(rows, -1, -1)
    output: Tensor = layer(x.expand(rows, -1, -1), read, self_mask=mask, cross_mask=None)
    return output


def moved(layer: DecoderLayer, x: Tensor, memory: Tensor, mask: Tensor, name: str, *, keys: int) -> FloatArray:
    """How far each place moves without the value of each key at a hook point: 1 − cosine, (T, keys)."""
    kept = run(layer, x, memory, mask, rows=1)
    with tracing(record=(), edits={name: without_each}):
        changed = run(layer, x, memory, mask, rows=keys)  # row j without the value of key j
    distances = 1 - torch.cosine_similarity(kept.double(), changed.double(), dim=-1)  # (keys, T)
    return distances.clamp_min(0).T.cpu().numpy()


def without_each(values: Tensor) -> Tensor:
    """An edit for `*.values` (B, H, S, K) of a batch of as many rows as there are keys: row j loses key j."""
    rows = torch.arange(values.size(0), device=values.device)
    zeroed = values.clone()
    zeroed[rows, :, rows] = 0.0
    return zeroed

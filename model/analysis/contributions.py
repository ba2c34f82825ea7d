"""Why one word and not another: the difference of two logits as a sum over the parts of the decoder.

Every head, feed-forward network and embedding adds a vector to the residual stream. With the standard deviation of each
LayerNorm fixed at its value in this run, the way from there to a logit is linear, so the parts add up to the exact
difference. These are direct effects (Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"): what a
part contributes through a later layer counts for that layer.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from model.analysis.streams import FloatArray, head_matrices, linear_norm, output_rows, require_transformer
from model.checkpoints.checkpoint import Checkpoint
from model.decoding.decoder_state import NOTHING_FORCED
from model.inference.translate import record_translation
from model.inference.translation import Recording
from model.network.layers import DecoderLayer, Residual
from model.network.transformer import Transformer
from model.trace import hook_name

__all__ = ["Contributions", "contributions"]


@dataclass(frozen=True, kw_only=True)
class Contributions:
    """Contributions to the logit of the written token minus the logit of its rival, at one position."""

    word: float  # of the embedding of the token just read
    position: float  # of its positional encoding
    decoder: FloatArray  # (L, H), of the heads of decoder self-attention
    cross: FloatArray  # (L, H), of the heads of cross-attention
    feed_forward: FloatArray  # (L,)
    biases: float  # of projections, norms and the output; they are the same for every text
    difference: float  # of the model's own two logits

    @property
    def total(self) -> float:
        """The sum of all contributions. Up to rounding, it equals the difference."""
        parts = (self.decoder, self.cross, self.feed_forward)
        return self.word + self.position + self.biases + sum(float(part.sum()) for part in parts)


@torch.inference_mode()
def contributions(
    checkpoint: Checkpoint, text: str, position: int, rival: int, *, forced: Mapping[int, int] = NOTHING_FORCED
) -> Contributions:
    """Explain why a translation has one token and not another.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        text: Any text.
        position: In the translation, counted from 0.
        rival: The target id of the other token.
        forced: Position → target id that is written there, whatever its probability.

    Raises:
        ConfigError: the model is not one of our Transformers.
    """
    model = require_transformer(checkpoint)
    record = ("decoder.embedding.*", "decoder.layers.*.stream", "decoder.layers.*.head_outputs")
    translation, recording = record_translation(checkpoint, text, record=record, forced=forced)
    stream = DecomposedStream(model, recording, position)
    for index, layer in enumerate(model.decoder.layers):
        assert isinstance(layer, DecoderLayer)
        stream.add_heads("decoder", index, layer.self_attention_residual)
        stream.add_heads("cross", index, layer.cross_attention_residual)
        stream.add_feed_forward(index, layer)
    stream.normalize(model.decoder.norm)
    written = translation.written[position].id
    rows, shift = output_rows(model, [written, rival])  # (2, D), (2,)
    direction = rows[0] - rows[1]
    values, heads, layers = stream.parts @ direction, model.config.num_heads, model.config.num_decoder_layers
    by_layer = values[2:].reshape(layers, 2 * heads + 1)
    last = stream.recorded(f"decoder.layers.{layers - 1}.feed_forward_residual.stream")
    logits = model.project(model.decoder.norm(stream.to_model(last)))
    return Contributions(
        word=float(values[0]),
        position=float(values[1]),
        decoder=by_layer[:, :heads],
        cross=by_layer[:, heads : 2 * heads],
        feed_forward=by_layer[:, -1],
        biases=float(stream.biases @ direction + shift[0] - shift[1]),
        difference=float(logits[written] - logits[rival]),
    )


class DecomposedStream:
    """The residual stream at one position of the decoder, as a sum of parts (N, D) and of all biases (D,)."""

    def __init__(self, model: Transformer, recording: Recording, position: int) -> None:
        """Begin with two parts: the token embedding and the positional encoding."""
        self.model, self.recording, self.position = model, recording, position
        token, x = self.recorded("decoder.embedding.token_vectors"), self.recorded("decoder.embedding.sum")
        self.parts, self.biases = np.stack([token, x - token]), np.zeros_like(x)

    def recorded(self, name: str) -> FloatArray:
        """What passed a hook point at this position, (…, D), in double precision."""
        return self.recording.array(name)[..., self.position, :].astype(np.float64)

    def to_model(self, array: FloatArray) -> torch.Tensor:
        """An array with the precision and on the device of the model."""
        return torch.from_numpy(array).to(next(self.model.parameters()))

    def add_heads(self, kind: str, layer: int, residual: Residual) -> None:
        """Add one part per head of an attention sublayer."""
        matrices, bias = head_matrices(self.model, kind, layer)
        heads = self.recorded(hook_name(kind, layer, "head_outputs"))  # (H, K)
        self.parts = np.concatenate([self.parts, np.einsum("hk,hkd->hd", heads, matrices)])
        self.biases = self.biases + bias
        if not residual.pre:
            self.normalize(residual.norm)

    def add_feed_forward(self, index: int, layer: DecoderLayer) -> None:
        """Add one part for the feed-forward network. No hook point records its output, so it runs again."""
        residual = layer.feed_forward_residual
        state = self.to_model(self.recorded(f"decoder.layers.{index}.cross_attention_residual.stream"))
        added = layer.feed_forward(residual.norm(state) if residual.pre else state)
        self.parts = np.concatenate([self.parts, added[None].cpu().double().numpy()])
        if not residual.pre:
            self.normalize(residual.norm)

    def normalize(self, norm: nn.Module) -> None:
        """Apply a norm, as a linear map, to every part."""
        both, shift = linear_norm(norm, self.parts.sum(axis=0) + self.biases, np.stack([*self.parts, self.biases]))
        self.parts, self.biases = both[:-1], both[-1] + shift

"""Why this word, not that one: the difference of two logits as a sum of what each part of the decoder added.

Every head, feed-forward and embedding adds a vector to the residual stream. With each LayerNorm's standard deviation
held at what it was, the way from there to a logit is linear, so the parts add up to the difference exactly. These are
direct effects (Elhage et al. 2021): what a part says to a later layer counts as that layer's.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from model.analysis.streams import FloatArray, head_matrices, linear_norm, output_rows, require_transformer
from model.checkpoints.checkpoint import Checkpoint
from model.decoding.decoder_state import NOTHING_FORCED
from model.inference.translate import record_translation
from model.network.layers import DecoderLayer
from model.trace import hook_name

__all__ = ["Contributions", "contributions"]


@dataclass(frozen=True, kw_only=True)
class Contributions:
    """To the logit of the written token minus that of its rival, at one position."""

    word: float  # the vector of the token that was read last
    position: float  # that of its place
    decoder: FloatArray  # (L, H)
    cross: FloatArray  # (L, H)
    feed_forward: FloatArray  # (L,)
    biases: float  # of projections, norms and the output, which are the same for every text
    difference: float  # of the model's own two logits

    @property
    def total(self) -> float:
        """Of all parts; it equals the difference, up to rounding."""
        parts = (self.decoder, self.cross, self.feed_forward)
        return self.word + self.position + self.biases + sum(float(part.sum()) for part in parts)


@torch.inference_mode()
def contributions(
    checkpoint: Checkpoint, text: str, position: int, rival: int, *, forced: Mapping[int, int] = NOTHING_FORCED
) -> Contributions:
    """Take apart why a translation has one token and not another.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        text: Anything.
        position: In the translation, counted from 0.
        rival: Target id of the other token.
        forced: Position → target id that is written there whatever its probability.

    Raises:
        ConfigError: the model's stream cannot be followed.
    """
    model = require_transformer(checkpoint)
    record = ("decoder.embedding.*", "decoder.layers.*.stream", "decoder.layers.*.head_outputs")
    translation, recording = record_translation(checkpoint, text, record=record, forced=forced)

    def at_position(name: str) -> FloatArray:
        return recording.array(name)[..., position, :].astype(np.float64)

    token, x = at_position("decoder.embedding.token_vectors"), at_position("decoder.embedding.sum")
    parts, biases = np.stack([token, x - token]), np.zeros_like(x)  # (N, D), (D,)

    def as_the_models(array: FloatArray) -> torch.Tensor:
        return torch.from_numpy(array).to(next(model.parameters()))

    def behind(norm: torch.nn.Module, parts: FloatArray, biases: FloatArray) -> tuple[FloatArray, FloatArray]:
        both, shift = linear_norm(norm, parts.sum(axis=0) + biases, np.stack([*parts, biases]))
        return both[:-1], both[-1] + shift

    for index, layer in enumerate(model.decoder.layers):
        assert isinstance(layer, DecoderLayer)
        for kind, residual in (("decoder", layer.self_attention_residual), ("cross", layer.cross_attention_residual)):
            matrices, bias = head_matrices(model, kind, index)
            of_heads = at_position(hook_name(kind, index, "head_outputs"))  # (H, K)
            parts = np.concatenate([parts, np.einsum("hk,hkd->hd", of_heads, matrices)])
            biases = biases + bias
            if not residual.pre:
                parts, biases = behind(residual.norm, parts, biases)
        residual = layer.feed_forward_residual
        state = as_the_models(at_position(f"decoder.layers.{index}.cross_attention_residual.stream"))
        added = layer.feed_forward(residual.norm(state) if residual.pre else state)
        parts = np.concatenate([parts, added[None].cpu().double().numpy()])
        if not residual.pre:
            parts, biases = behind(residual.norm, parts, biases)
    parts, biases = behind(model.decoder.norm, parts, biases)
    written = translation.written[position].id
    rows, shift = output_rows(model, [written, rival])  # (2, D), (2,)
    direction = rows[0] - rows[1]
    values, heads, layers = parts @ direction, model.config.num_heads, model.config.num_decoder_layers
    by_layer = values[2:].reshape(layers, 2 * heads + 1)
    last = f"decoder.layers.{layers - 1}.feed_forward_residual.stream"
    logits = model.project(model.decoder.norm(as_the_models(at_position(last))))
    return Contributions(
        word=float(values[0]),
        position=float(values[1]),
        decoder=by_layer[:, :heads],
        cross=by_layer[:, heads : 2 * heads],
        feed_forward=by_layer[:, -1],
        biases=float(biases @ direction + shift[0] - shift[1]),
        difference=float(logits[written] - logits[rival]),
    )

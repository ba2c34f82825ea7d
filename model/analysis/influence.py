"""How much each written word depends on the source, and how much on the words written before it.

The method is ALTI+ (Ferrando et al. 2022, "Towards Opening the Black Box of Neural Machine Translation"). At each
position, the output of attention is a sum of vectors, one for each key. In self-attention, the residual connection
belongs to the vector of the position itself; in cross-attention, it is a separate vector, which comes from the target.
The share of a vector is how much closer it brings the sum to the output. Shares are multiplied layer by layer.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from model.analysis.streams import FloatArray, head_matrices, linear_norm, require_transformer
from model.checkpoints.checkpoint import Checkpoint
from model.config.section import ConfigError
from model.decoding.decoder_state import NOTHING_FORCED
from model.inference.translate import record_translation
from model.inference.translation import Translation
from model.network.layers import Residual
from model.network.transformer import Transformer
from model.trace import hook_name

__all__ = ["Influence", "influence", "shares"]

MAX_LAYER_SIZE = 1 << 21  # numbers in the vectors of one layer, 16 MB; about five such arrays exist at once


@dataclass(frozen=True, kw_only=True)
class Influence:
    """The shares of all tokens that the model read, for each written token. A row of both arrays sums to 1."""

    source: FloatArray  # (T, S)
    target: FloatArray  # (T, T): of the target tokens, beginning with `<s>`
    residual: float  # the largest difference between the sum of a layer's vectors and the output of the layer


def influence(
    checkpoint: Checkpoint, text: str, forced: Mapping[int, int] = NOTHING_FORCED
) -> tuple[Translation, Influence]:
    """Follow each written token of a translation back to the tokens that the model read.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        text: Any text.
        forced: Position → target id that is written there, whatever its probability.

    Raises:
        ConfigError: the model is not one of our Transformers, or the text is too long.
    """
    model = require_transformer(checkpoint)
    record = ("*.stream", "*.embedding.sum", "*.values")
    translation, recording = record_translation(checkpoint, text, record=record, forced=forced)
    longest = max(len(translation.source), len(translation.read))
    if longest**2 * model.config.d_model > MAX_LAYER_SIZE:
        limit = math.isqrt(MAX_LAYER_SIZE // model.config.d_model)
        raise ConfigError(
            f"The sentence or its translation has {longest} tokens. {checkpoint.name} can be followed word by word up "
            f"to {limit} tokens. Shorten the sentence."
        )
    differences = []

    def layer(kind: str, index: int, block: str, into: str) -> FloatArray:
        stack = "encoder" if kind == "encoder" else "decoder"
        residual = model.get_submodule(f"{stack}.layers.{index}.{block}")
        assert isinstance(residual, Residual)
        layer_shares, difference = decompose(
            model,
            kind,
            index,
            residual,
            x=recording.array(into).astype(np.float64),
            output=recording.array(f"{stack}.layers.{index}.{block}.stream").astype(np.float64),
            weights=translation.maps[kind][index].astype(np.float64),
            values=recording.array(hook_name(kind, index, "values")).astype(np.float64),
        )
        differences.append(difference)
        return layer_shares

    encoder = np.eye(len(translation.source))  # (S, S): the share of each token (column) in each state (row)
    into = "encoder.embedding.sum"
    for index in range(model.config.num_encoder_layers):
        encoder = layer("encoder", index, "self_attention_residual", into) @ encoder
        into = f"encoder.layers.{index}.feed_forward_residual.stream"
    target, source = np.eye(len(translation.read)), np.zeros((len(translation.read), len(translation.source)))
    into = "decoder.embedding.sum"
    for index in range(model.config.num_decoder_layers):
        from_target = layer("decoder", index, "self_attention_residual", into)  # (T, T)
        through = f"decoder.layers.{index}.self_attention_residual.stream"
        both = layer("cross", index, "cross_attention_residual", through)  # (T, S + 1)
        from_source, kept = both[:, :-1], both[:, -1:]
        from_target = kept * from_target
        target, source = from_target @ target, from_target @ source + from_source @ encoder
        into = f"decoder.layers.{index}.feed_forward_residual.stream"
    return translation, Influence(source=source, target=target, residual=max(differences))


def decompose(
    model: Transformer,
    kind: str,
    layer: int,
    residual: Residual,
    *,
    x: FloatArray,
    output: FloatArray,
    weights: FloatArray,
    values: FloatArray,
) -> tuple[FloatArray, float]:
    """The shares of the keys in one attention sublayer with its residual connection.

    Args:
        model: The model of the sublayer.
        kind: One of `KINDS`.
        layer: Counted from 0.
        residual: The residual connection around the attention.
        x: Its input, (T, D).
        output: Its recorded output, (T, D).
        weights: (H, T, S).
        values: (H, S, K).

    Returns:
        The shares, and the largest difference of the vectors' sum from the output. In self-attention, a column is a
        token (T, T), and the residual connection counts for the token itself. In cross-attention, the last column is
        the residual connection (T, S + 1).
    """
    matrices, bias = head_matrices(model, kind, layer)
    mixed = values @ matrices  # (H, S, D)
    vectors = np.einsum("hts,hsd->std", weights, mixed)  # (S, T, D)
    total = x + vectors.sum(axis=0) + bias  # (T, D)
    if kind == "cross":
        parts = np.concatenate([vectors, x[None]])  # (S + 1, T, D)
    else:
        places = np.arange(len(x))
        parts = vectors
        parts[places, places] += x
    if not residual.pre:
        parts, shift = linear_norm(residual.norm, total, parts)
        (total,), _ = linear_norm(residual.norm, total, total[None])
        total = total + shift
    return shares(total, parts).T, float(np.abs(total - output).max())


def shares(total: FloatArray, parts: FloatArray) -> FloatArray:
    """The share of each part in a sum y: ‖y‖₁ − ‖y − part‖₁ where this is above 0, divided by the total of all parts.

    Args:
        total: y, (T, D). It may contain a rest that is in no part.
        parts: (N, T, D).

    Returns:
        (N, T); its columns sum to 1.
    """
    nearer = np.maximum(np.abs(total).sum(axis=-1) - np.abs(total - parts).sum(axis=-1), 0)  # (N, T)
    whole = nearer.sum(axis=0)
    even = np.full_like(nearer, 1 / len(parts))  # where no part brings the sum closer, all have the same share
    return np.where(whole > 0, nearer / np.where(whole > 0, whole, 1), even)

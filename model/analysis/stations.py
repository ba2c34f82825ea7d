"""Every station of one token on its way through one layer. Each step is computed again from its input.

Keys and values belong to other tokens, so they are the model's own. The stations are those of "Attention Is All You
Need", figure 1. The code beside a station is read from the module that computes it, so both always agree.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from model.analysis.attention_station import AttentionSite, attention_station
from model.analysis.source_code import CodeLine, function_code
from model.analysis.station import (
    Station,
    Step,
    format_length,
    largest_difference,
    mean_and_variance,
    output_rows,
    recorded_at,
    require_transformer,
    to_float32,
    to_float64,
)
from model.analysis.streams import FloatArray
from model.analysis.sublayer_stations import (
    feed_forward_station,
    layer_norm,
    norm_stations,
    residual_station,
    sublayer_input,
)
from model.checkpoints.checkpoint import Checkpoint
from model.decoding.decoder_state import NOTHING_FORCED
from model.inference.translate import record_translation
from model.inference.translation import Recording, Translation
from model.network.layers import DecoderLayer, EncoderLayer, Residual
from model.network.positional import PositionalEncoding
from model.network.transformer import Embedding, Transformer

__all__ = ["WordPrediction", "predict_word", "stations"]

NUM_BEST = 10  # words


@dataclass(frozen=True, kw_only=True)
class WordPrediction:
    """The last step of the decoder: from its vector to a word."""

    words: tuple[tuple[str, float, float], ...]  # the ten best as (token, logit, probability), best first
    formula: str  # LaTeX
    code: tuple[tuple[CodeLine, ...], ...]  # the functions that compute it


@torch.inference_mode()
def stations(
    checkpoint: Checkpoint,
    text: str,
    stack: str,
    layer: int,
    position: int,
    *,
    forced: Mapping[int, int] = NOTHING_FORCED,
) -> tuple[Translation, list[Station], WordPrediction | None]:
    """Follow one token from its embedding through one layer.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        text: Any text.
        stack: "encoder" or "decoder".
        layer: Counted from 0. All layers before it are one station.
        position: Of the token in the input of the stack, counted from 0.
        forced: Position → target id that is written there, whatever its probability.

    Returns:
        The translation; the stations; and, for the last layer of the decoder, the predicted words.

    Raises:
        ConfigError: the model is not one of our Transformers.
    """
    model = require_transformer(checkpoint)
    record = (f"{stack}.embedding.*", f"{stack}.layers.*")
    translation, recording = record_translation(checkpoint, text, record=record, forced=forced)
    token = (translation.source if stack == "encoder" else translation.read)[position]
    path = embedding_stations(model, recording, stack, token.id, position)
    x = recorded_at(recording, f"{stack}.embedding.sum", position)
    if layer:
        x = recorded_at(recording, f"{stack}.layers.{layer - 1}.feed_forward_residual.stream", position)
        path.append(earlier_layers(layer, x))
    for kind in ("encoder",) if stack == "encoder" else ("decoder", "cross"):
        site = AttentionSite(
            model=model, recording=recording, translation=translation, kind=kind, layer=layer, position=position
        )
        sublayer, x = attention_stations(site, stack, x)
        path += sublayer
    sublayer, x = feed_forward_stations(model, recording, f"{stack}.layers.{layer}", position, x)
    path += sublayer
    last = stack == "decoder" and layer == model.config.num_decoder_layers - 1
    return translation, path, predict_word(checkpoint, model, x) if last else None


def earlier_layers(layer: int, x: FloatArray) -> Station:
    """All layers before `layer` as one station, with the vector `x` (D,) after them."""
    name = f"Layers 1 to {layer}" if layer > 1 else "Layer 1"
    return Station(name=name, formula=rf"x^{{({layer})}}", vector=to_float32(x), difference=0.0)


def attention_stations(site: AttentionSite, stack: str, x: FloatArray) -> tuple[list[Station], FloatArray]:
    """An attention sublayer with the residual connection around it.

    Returns:
        Its stations, and the model's own vector after it, (D,).
    """
    module, name = (
        ("cross_attention", "Cross-attention") if site.kind == "cross" else ("self_attention", "Self-attention")
    )
    block = f"{stack}.layers.{site.layer}.{module}_residual"
    residual = site.model.get_submodule(block)
    assert isinstance(residual, Residual)
    after = recorded_at(site.recording, f"{block}.stream", site.position)
    return [
        *norm_stations(residual, x),
        attention_station(site, sublayer_input(residual, x), name=name),
        residual_station(residual, x, site.recorded("output"), after),
    ], after


def feed_forward_stations(
    model: Transformer, recording: Recording, block: str, position: int, x: FloatArray
) -> tuple[list[Station], FloatArray]:
    """The feed-forward sublayer of the layer `block` with the residual connection around it.

    Returns:
        Its stations, and the model's own vector after it, (D,).
    """
    layer = model.get_submodule(block)
    assert isinstance(layer, EncoderLayer | DecoderLayer)
    residual = layer.feed_forward_residual
    after = recorded_at(recording, f"{block}.feed_forward_residual.stream", position)
    station = feed_forward_station(layer.feed_forward, sublayer_input(residual, x))
    added = station.vector.astype(np.float64)
    return [*norm_stations(residual, x), station, residual_station(residual, x, added, after)], after


def embedding_stations(
    model: Transformer, recording: Recording, stack: str, token: int, position: int
) -> list[Station]:
    """The embedding of a token id, and the positional encoding added to it."""
    embedding = model.get_submodule(f"{stack}.embedding")
    assert isinstance(embedding, Embedding)
    assert embedding.positions is not None, "a translator adds its positions"
    vector = to_float64(embedding.tokens.weight[token]) * embedding.scale  # (D,)
    encoding = to_float64(embedding.positions.table[position])  # (D,)
    total = vector + encoding
    names = (f"{stack}.embedding.token_vectors", f"{stack}.embedding.sum")
    models_vector, models_total = (recorded_at(recording, name, position) for name in names)
    scaled = embedding.scale != 1  # some tutorials leave the factor out
    token_facts = ((("√d", f"{embedding.scale:.4g}"),) if scaled else ()) + mean_and_variance(vector)
    position_facts = (
        ("length of the position vector", format_length(encoding)),
        ("length of the token vector", format_length(vector)),
    )
    return [
        Station(
            name="Token embedding",
            formula=r"x = \sqrt{d}\,E_{\mathrm{token}}" if scaled else r"x = E_{\mathrm{token}}",
            vector=to_float32(vector),
            difference=largest_difference(vector, models_vector),
            steps=(
                Step(
                    name="token",
                    formula="x = √d · E[token]" if scaled else "x = E[token]",
                    numbers=to_float32(vector)[None],
                    facts=token_facts,
                ),
            ),
            code=(function_code(Embedding.forward),),
        ),
        Station(
            name="Position added",
            formula=r"x \leftarrow x + P_{\mathrm{position}}",
            vector=to_float32(total),
            difference=largest_difference(total, models_total),
            steps=(
                Step(
                    name="position",
                    formula="P[position], added to x",
                    numbers=to_float32(encoding)[None],
                    facts=position_facts,
                ),
            ),
            code=(function_code(PositionalEncoding.forward),),
        ),
    ]


def predict_word(checkpoint: Checkpoint, model: Transformer, x: FloatArray) -> WordPrediction:
    """The ten most probable words after the decoder's last vector `x` (D,)."""
    final = layer_norm(model.decoder.norm, x)
    rows, shift = output_rows(model)  # (V, D), (V,)
    logits = rows @ final + shift  # (V,)
    probabilities = np.exp(logits - logits.max())
    probabilities /= probabilities.sum()
    best = np.argsort(-logits)[:NUM_BEST]
    names = checkpoint.tokenizers.target.tokens(best.tolist())
    return WordPrediction(
        words=tuple((name, float(logits[i]), float(probabilities[i])) for name, i in zip(names, best, strict=True)),
        formula=r"p = \mathrm{softmax}(W x" + (")" if model.output_projection.bias is None else " + b)"),
        code=(function_code(Transformer.project),),
    )

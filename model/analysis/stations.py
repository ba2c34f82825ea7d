"""Every station of one token on its way through one layer: each step computed again from what went into it.

Keys and values, which are other tokens' vectors, are the model's own. The stations are those of "Attention Is All You
Need", figure 1. The code beside a station is read from the module that computes it, so the two can never disagree.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

from model.analysis.attention_station import attended
from model.analysis.source_code import CodeLine, code_of
from model.analysis.station import Station, Step, at, length, moments, numbers, off, single
from model.analysis.streams import FloatArray, linear_norm, output_rows, streams_of
from model.checkpoints.checkpoint import Checkpoint
from model.decoding.decode import NOTHING_FORCED
from model.inference.translate import record_translation
from model.inference.translation import Recording, Translation
from model.network.layers import DecoderLayer, EncoderLayer, FeedForward, Residual
from model.network.positional import PositionalEncoding
from model.network.transformer import Embedding, Transformer
from model.trace import hook_name

__all__ = ["Ending", "ending", "stations"]

BEST = 10  # words


@dataclass(frozen=True, kw_only=True)
class Ending:
    """The last step of the decoder: from the vector to a word."""

    words: tuple[tuple[str, float, float], ...]  # the best: token, logit, probability
    formula: str  # LaTeX
    code: tuple[tuple[CodeLine, ...], ...]  # functions that compute it


@torch.inference_mode()
def stations(
    checkpoint: Checkpoint,
    text: str,
    stack: str,
    layer: int,
    place: int,
    *,
    forced: Mapping[int, int] = NOTHING_FORCED,
) -> tuple[Translation, list[Station], Ending | None]:
    """Follow one token from its embedding through one layer.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        text: Anything.
        stack: "encoder" or "decoder".
        layer: Counted from 0. What lies between the embedding and this layer is one station.
        place: Of the token in what the stack reads, counted from 0.
        forced: Position → target id that is written there whatever its probability.

    Returns:
        The translation, the stations, and of the last layer of the decoder how they end.

    Raises:
        ConfigError: the model's stream cannot be followed.
    """
    model = streams_of(checkpoint)
    record = (f"{stack}.embedding.*", f"{stack}.layers.*")
    translation, recording = record_translation(checkpoint, text, record=record, forced=forced)
    part = model.get_submodule(stack)
    tokens = translation.source if stack == "encoder" else translation.read
    found = embedded(model, recording, stack, tokens[place].id, place)
    x = at(recording, f"{stack}.embedding.sum", place)
    if layer:
        x = at(recording, f"{stack}.layers.{layer - 1}.feed_forward_residual.stream", place)
        name = f"Layers 1 to {layer}" if layer > 1 else "Layer 1"
        found.append(Station(name=name, formula=rf"x^{{({layer})}}", vector=single(x), difference=0.0))
    this = part.get_submodule(f"layers.{layer}")
    assert isinstance(this, EncoderLayer | DecoderLayer)
    attentions = [(stack, "Self-attention", "self_attention")]
    if stack == "decoder":
        attentions.append(("cross", "Cross-attention", "cross_attention"))
    for kind, name, module in attentions:
        residual = getattr(this, f"{module}_residual")
        found += in_front(residual, x)
        found.append(attended(model, recording, translation, kind, layer, place, normed(residual, x), name))
        added = at(recording, hook_name(kind, layer, "output"), place)
        wrote = at(recording, f"{stack}.layers.{layer}.{module}_residual.stream", place)
        found.append(joined(residual, x, added, wrote))
        x = wrote
    found += in_front(this.feed_forward_residual, x)
    wrote = at(recording, f"{stack}.layers.{layer}.feed_forward_residual.stream", place)
    fed = fed_forward(this.feed_forward, normed(this.feed_forward_residual, x))
    found += [fed, joined(this.feed_forward_residual, x, fed.vector.astype(np.float64), wrote)]
    last = stack == "decoder" and layer == model.config.num_decoder_layers - 1
    return translation, found, ending(checkpoint, model, wrote) if last else None


def embedded(model: Transformer, recording: Recording, stack: str, token: int, place: int) -> list[Station]:
    embedding = model.get_submodule(f"{stack}.embedding")
    assert isinstance(embedding, Embedding)
    assert embedding.positions is not None, "a translator's positions are added"
    vector = numbers(embedding.tokens.weight[token]) * embedding.scale
    position = numbers(embedding.positions.table[place])
    total = vector + position
    names = (f"{stack}.embedding.token_vectors", f"{stack}.embedding.sum")
    own = [at(recording, name, place) for name in names]
    scaled = embedding.scale != 1  # some tutorials leave the factor out
    facts = ((("√d", f"{embedding.scale:.4g}"),) if scaled else ()) + moments(vector)
    added = (("length of the position", length(position)), ("length of the token", length(vector)))
    return [
        Station(
            name="Token embedding",
            formula=r"x = \sqrt{d}\,E_{\mathrm{token}}" if scaled else r"x = E_{\mathrm{token}}",
            vector=single(vector),
            difference=off(vector, own[0]),
            steps=(
                Step(
                    name="token",
                    formula="x = √d · E[token]" if scaled else "x = E[token]",
                    numbers=single(vector)[None],
                    facts=facts,
                ),
            ),
            code=(code_of(Embedding.forward),),
        ),
        Station(
            name="Position added",
            formula=r"x \leftarrow x + P_{\mathrm{place}}",
            vector=single(total),
            difference=off(total, own[1]),
            steps=(Step(name="position", formula="P[place], added to x", numbers=single(position)[None], facts=added),),
            code=(code_of(PositionalEncoding.forward),),
        ),
    ]


def layer_norm(norm: nn.Module, x: FloatArray) -> FloatArray:
    (output,), shift = linear_norm(norm, x, x[None])
    return np.asarray(output + shift)


def normed(residual: Residual, x: FloatArray) -> FloatArray:
    """What the sublayer reads: with the norms in front, the norm of the stream."""
    return layer_norm(residual.norm, x) if residual.pre else x


def norm_step(name: str, x: FloatArray, output: FloatArray) -> Step:
    facts = (("μ", f"{x.mean():.4f}"), ("σ²", f"{x.var():.4f}"), ("length", length(output)))
    return Step(name=name, formula="γ (x − μ) / σ + β", numbers=single(output)[None], facts=facts)


def in_front(residual: Residual, x: FloatArray) -> list[Station]:
    """The norm before a sublayer, of a model that has it there; its own is asked once more, as none is recorded."""
    if not residual.pre:
        return []
    output = layer_norm(residual.norm, x)
    weight = next(residual.norm.parameters())
    own = numbers(residual.norm(torch.from_numpy(x).to(weight)))
    return [
        Station(
            name="Norm",
            formula=r"\hat{x} = \gamma\,\frac{x - \mu}{\sigma} + \beta",
            vector=single(output),
            difference=off(output, own),
            steps=(norm_step("norm in front", x, output),),
            code=(code_of(Residual.forward),),
        )
    ]


def joined(residual: Residual, x: FloatArray, added: FloatArray, wrote: FloatArray) -> Station:
    total = x + added
    output = total if residual.pre else layer_norm(residual.norm, total)
    facts = (("length of x", length(x)), ("length of what is added", length(added)))
    name = "add to the stream" if residual.pre else "add"
    add = Step(name=name, formula="x + o", numbers=single(total)[None], facts=facts)
    return Station(
        name="Add" if residual.pre else "Add and norm",
        formula=r"x \leftarrow x + o" if residual.pre else r"x \leftarrow \gamma\,\frac{(x + o) - \mu}{\sigma} + \beta",
        vector=single(output),
        difference=off(output, wrote),
        steps=(add,) if residual.pre else (add, norm_step("norm", total, output)),
        code=(code_of(Residual.forward),),
    )


def fed_forward(feed_forward: FeedForward, x: FloatArray) -> Station:
    inner = numbers(feed_forward.expand.weight) @ x + numbers(feed_forward.expand.bias)  # (F,)
    units = numbers(feed_forward.activation(torch.from_numpy(inner)))
    output = numbers(feed_forward.contract.weight) @ units + numbers(feed_forward.contract.bias)
    own = feed_forward(torch.from_numpy(x).to(feed_forward.expand.weight))
    firing = np.flatnonzero(units > 0)
    strongest = firing[np.argsort(-units[firing])][:5]
    relu = feed_forward.activation is F.relu
    fires = (
        ("units that fire", f"{len(firing)} of {len(units)}"),
        ("strongest", ", ".join(f"#{unit + 1} {units[unit]:.2f}" for unit in strongest)),
    )
    return Station(
        name="Feed-forward",
        formula=(r"o = \max(0,\, " if relu else r"o = \mathrm{GELU}(") + r"x W_1 + b_1)\,W_2 + b_2",
        vector=single(output),
        difference=off(output, numbers(own)),
        steps=(
            Step(name="expand", formula="x W₁ + b₁", numbers=single(inner)[None]),
            Step(name="fire", formula="max(0, …)" if relu else "GELU(…)", numbers=single(units)[None], facts=fires),
            Step(
                name="contract",
                formula="o = … W₂ + b₂",
                numbers=single(output)[None],
                facts=(("length", length(output)),),
            ),
        ),
        code=(code_of(FeedForward.forward),),
    )


def ending(checkpoint: Checkpoint, model: Transformer, x: FloatArray) -> Ending:
    """From the last vector (D,) of the decoder to the ten best words."""
    final = layer_norm(model.decoder.norm, x)
    rows, shift = output_rows(model)  # (V, D), (V,)
    logits = rows @ final + shift  # (V,)
    chances = np.exp(logits - logits.max())
    chances /= chances.sum()
    best = np.argsort(-logits)[:BEST]
    names = checkpoint.tokenizers.target.tokens(best.tolist())
    return Ending(
        words=tuple((name, float(logits[i]), float(chances[i])) for name, i in zip(names, best, strict=True)),
        formula=r"p = \mathrm{softmax}(W x" + (")" if model.output_projection.bias is None else " + b)"),
        code=(code_of(Transformer.project),),
    )

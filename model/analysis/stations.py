"""Every station of one token on its way through one layer: each computed again from what went into it.

Of attention the weights are the model's own; `anatomy` computes those again.
The stations of the encoder and the decoder are those of "Attention Is All You Need", figure 1. The code beside a
station is read from the module that computes it, so the two can never disagree.
"""

import ast
import inspect
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import nn

from model.analysis.streams import FloatArray, head_matrices, linear_norm, streams_of
from model.checkpoint import Checkpoint
from model.inference.translate import record_translation
from model.inference.translation import Recording, Translation
from model.network.attention import (
    MultiHeadAttention,
    additive_scores,
    attention_weights,
    mask_scores,
    scaled_dot_product_scores,
)
from model.network.layers import DecoderLayer, EncoderLayer, FeedForward, Residual
from model.network.positional import PositionalEncoding
from model.network.transformer import Embedding, Transformer
from model.trace import hook_name

__all__ = ["Ending", "Station", "code_of_function", "ending", "stations"]

BEST = 10  # words


@dataclass(frozen=True, kw_only=True)
class Station:
    """What a token's vector is after one step."""

    name: str
    formula: str  # LaTeX
    vector: NDArray[np.float32]  # (D,), computed here from what the model had before this step
    difference: float  # the largest from the model's own
    facts: tuple[tuple[str, str], ...] = ()  # name and number, as text
    code: tuple[str, ...] = ()  # functions that compute it


@dataclass(frozen=True, kw_only=True)
class Ending:
    """The last step of the decoder: from the vector to a word."""

    words: tuple[tuple[str, float, float], ...]  # the best: token, logit, probability
    code: tuple[str, ...]  # functions that compute it


def code_of_function(function: Callable[..., object]) -> str:
    """The source of a function without its docstring, as it stands in its module."""
    source = textwrap.dedent(inspect.getsource(function))
    (definition,) = ast.parse(source).body
    assert isinstance(definition, ast.FunctionDef)
    first = definition.body[0]
    lines = source.splitlines()
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        del lines[first.lineno - 1 : first.end_lineno]
    return "\n".join(lines)


@torch.inference_mode()
def stations(
    checkpoint: Checkpoint, text: str, stack: str, layer: int, place: int
) -> tuple[Translation, list[Station], Ending | None]:
    """Follow one token from its embedding through one layer.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        text: Anything.
        stack: "encoder" or "decoder".
        layer: Counted from 0. What lies between the embedding and this layer is one station.
        place: Of the token in what the stack reads, counted from 0.

    Returns:
        The translation, the stations, and of the last layer of the decoder how they end.

    Raises:
        ConfigError: the model's stream cannot be followed.
    """
    model = streams_of(checkpoint)
    record = (f"{stack}.embedding.*", f"{stack}.layers.*")
    translation, recording = record_translation(checkpoint, text, record=record)
    part = model.get_submodule(stack)
    tokens = translation.source if stack == "encoder" else translation.read
    found = embedded(model, recording, stack, tokens[place].id, place)
    x = at(recording, f"{stack}.embedding.sum", place)
    if layer:
        x = at(recording, f"{stack}.layers.{layer - 1}.feed_forward_residual.stream", place)
        found.append(
            Station(
                name=f"Layers 1 to {layer}" if layer > 1 else "Layer 1",
                formula=rf"x^{{({layer})}}",
                vector=x.astype(np.float32),
                difference=0.0,
                facts=moments(x),
            )
        )
    this = part.get_submodule(f"layers.{layer}")
    assert isinstance(this, EncoderLayer | DecoderLayer)
    attentions = [(stack, "Self-attention", "self_attention")]
    if stack == "decoder":
        attentions.append(("cross", "Cross-attention", "cross_attention"))
    for kind, name, module in attentions:
        residual = getattr(this, f"{module}_residual")
        found.append(attended(model, recording, translation, kind, layer, place, name))
        added = at(recording, hook_name(kind, layer, "output"), place)
        wrote = at(recording, f"{stack}.layers.{layer}.{module}_residual.stream", place)
        found.append(joined(residual, x, added, wrote))
        x = wrote
    wrote = at(recording, f"{stack}.layers.{layer}.feed_forward_residual.stream", place)
    fed = fed_forward(this.feed_forward, normed(this.feed_forward_residual, x))
    found += [fed, joined(this.feed_forward_residual, x, fed.vector.astype(np.float64), wrote)]
    last = stack == "decoder" and layer == model.config.num_decoder_layers - 1
    return translation, found, ending(checkpoint, model, wrote) if last else None


def at(recording: Recording, name: str, place: int) -> FloatArray:
    return recording.array(name)[..., place, :].astype(np.float64)


def numbers(tensor: torch.Tensor) -> FloatArray:
    return tensor.detach().cpu().double().numpy()


def moments(x: FloatArray) -> tuple[tuple[str, str], ...]:
    return (("mean", f"{x.mean():.4f}"), ("variance", f"{x.var():.4f}"))


def embedded(model: Transformer, recording: Recording, stack: str, token: int, place: int) -> list[Station]:
    embedding = model.get_submodule(f"{stack}.embedding")
    assert isinstance(embedding, Embedding)
    vector = numbers(embedding.tokens.weight[token]) * embedding.scale
    total = vector + numbers(embedding.positions.table[place])
    names = (f"{stack}.embedding.token_vectors", f"{stack}.embedding.sum")
    own = [at(recording, name, place) for name in names]
    return [
        Station(
            name="Token embedding",
            formula=r"x = \sqrt{d}\,E_{\mathrm{token}}",
            vector=vector.astype(np.float32),
            difference=float(np.abs(vector - own[0]).max()),
            facts=(("√d", f"{embedding.scale:.4g}"), *moments(vector)),
            code=(code_of_function(Embedding.forward),),
        ),
        Station(
            name="Position added",
            formula=r"x \leftarrow x + P_{\mathrm{place}}",
            vector=total.astype(np.float32),
            difference=float(np.abs(total - own[1]).max()),
            facts=moments(total),
            code=(code_of_function(PositionalEncoding.forward),),
        ),
    ]


def attended(
    model: Transformer, recording: Recording, translation: Translation, kind: str, layer: int, place: int, name: str
) -> Station:
    additive = model.config.attention == "additive"
    weights = translation.maps[kind][layer][:, place].astype(np.float64)  # (H, S)
    values = recording.array(hook_name(kind, layer, "values")).astype(np.float64)  # (H, S, K)
    matrices, bias = head_matrices(model, kind, layer)
    heads = np.einsum("hs,hsk->hk", weights, values)
    output = np.einsum("hk,hkd->d", heads, matrices) + bias
    own = at(recording, hook_name(kind, layer, "output"), place)
    keys = translation.tokens_of(kind)[1]
    looks = [f"{keys[int(row.argmax())].text} {row.max():.2f}" for row in weights]
    # What distinguishes cross-attention: its keys and values are made of the encoder's output.
    read = r"^{\mathrm{enc}}" if kind == "cross" else ""
    return Station(
        name=name,
        formula=r"o = \left[\,\mathrm{softmax}\!\left("
        + (rf"v^\top\tanh(q_h + K_h{read})" if additive else rf"\tfrac{{q_h K_h{read}{{}}^\top}}{{\sqrt{{d_k}}}}")
        + rf" + \mathrm{{mask}}\right) V_h{read}\,\right]_{{h}} W_O + b_O",
        vector=output.astype(np.float32),
        difference=float(np.abs(output - own).max()),
        facts=tuple((f"head {head + 1} looks most at", look) for head, look in enumerate(looks)),
        code=(code_of_function(DecoderLayer.forward),)
        if kind == "cross"
        else (
            code_of_function(MultiHeadAttention.written_out),
            code_of_function(additive_scores if additive else scaled_dot_product_scores),
            code_of_function(mask_scores),
            code_of_function(attention_weights),
        ),
    )


def layer_norm(norm: nn.Module, x: FloatArray) -> FloatArray:
    (output,), shift = linear_norm(norm, x, x[None])
    return np.asarray(output + shift)


def normed(residual: Residual, x: FloatArray) -> FloatArray:
    """What the sublayer reads: with the norms in front, the norm of the stream."""
    return layer_norm(residual.norm, x) if residual.pre else x


def joined(residual: Residual, x: FloatArray, added: FloatArray, wrote: FloatArray) -> Station:
    total = x + added
    output = total if residual.pre else layer_norm(residual.norm, total)
    before = x if residual.pre else total  # what the norm reads
    return Station(
        name="Add" if residual.pre else "Add and norm",
        formula=r"x \leftarrow x + o" if residual.pre else r"x \leftarrow \gamma\,\frac{(x + o) - \mu}{\sigma} + \beta",
        vector=output.astype(np.float32),
        difference=float(np.abs(output - wrote).max()),
        facts=(
            ("length of x", f"{np.linalg.norm(x):.3f}"),
            ("length of what is added", f"{np.linalg.norm(added):.3f}"),
            ("μ", f"{before.mean():.4f}"),
            ("σ²", f"{before.var():.4f}"),
        ),
        code=(code_of_function(Residual.forward),),
    )


def fed_forward(feed_forward: FeedForward, x: FloatArray) -> Station:
    inner = numbers(feed_forward.expand.weight) @ x + numbers(feed_forward.expand.bias)  # (F,)
    units = numbers(feed_forward.activation(torch.from_numpy(inner)))
    output = numbers(feed_forward.contract.weight) @ units + numbers(feed_forward.contract.bias)
    own = feed_forward(torch.from_numpy(x).to(feed_forward.expand.weight))
    firing = np.flatnonzero(units > 0)
    strongest = firing[np.argsort(-units[firing])][:5]
    return Station(
        name="Feed-forward",
        formula=(r"o = \max(0,\, " if feed_forward.activation is F.relu else r"o = \mathrm{GELU}(")
        + r"x W_1 + b_1)\,W_2 + b_2",
        vector=output.astype(np.float32),
        difference=float(np.abs(output - numbers(own)).max()),
        facts=(
            ("units that fire", f"{len(firing)} of {len(units)}"),
            ("strongest", ", ".join(f"#{unit + 1} {units[unit]:.2f}" for unit in strongest)),
        ),
        code=(code_of_function(FeedForward.forward),),
    )


def ending(checkpoint: Checkpoint, model: Transformer, x: FloatArray) -> Ending:
    """From the last vector (D,) of the decoder to the ten best words."""
    final = layer_norm(model.decoder.norm, x)
    logits = numbers(model.output_projection.weight) @ final  # (V,)
    chances = np.exp(logits - logits.max())
    chances /= chances.sum()
    best = np.argsort(-logits)[:BEST]
    names = checkpoint.tokenizers.target.tokens(best.tolist())
    return Ending(
        words=tuple((name, float(logits[i]), float(chances[i])) for name, i in zip(names, best, strict=True)),
        code=(code_of_function(Transformer.project),),
    )

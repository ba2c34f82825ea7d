"""The forward pass of a Transformer written by hand in double precision. It keeps every part.

Nothing of `model/` computes here: its weights are read, and the equations of "Attention Is All You Need" and of ALTI+
(Ferrando et al. 2022, section 3) are applied to them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from model.network.transformer import Transformer

Name = tuple[Any, ...]


@dataclass(frozen=True, kw_only=True)
class Reference:
    """Of one source and what the decoder read."""

    lens: Sequence[Tensor]  # logits (T, V) after the embedding and after each layer
    parts: dict[Name, Tensor]  # ("word",), ("position",), (kind, layer, head), ("feed-forward", layer) → (T, D)
    biases: Tensor  # (T, D)
    target: Tensor  # (T, T): shares by ALTI+
    source: Tensor  # (T, S)


def norm(layer: Any, x: Tensor) -> Tensor:
    return F.layer_norm(x, x.shape[-1:], layer.weight.double(), layer.bias.double(), layer.eps)


def linear(layer: Any, x: Tensor) -> Tensor:
    product = x @ layer.weight.double().T
    return product if layer.bias is None else product + layer.bias.double()


def held(layer: Any, whole: Tensor, part: Tensor) -> Tensor:
    """A part after a LayerNorm with the standard deviation of the whole sum; without the shift."""
    deviation = (whole.var(-1, unbiased=False, keepdim=True) + layer.eps).sqrt()
    while deviation.dim() < part.dim():
        deviation = deviation.unsqueeze(1)
    return (part - part.mean(-1, keepdim=True)) / deviation * layer.weight.double()


def attended(module: Any, heads: int, x: Tensor, memory: Tensor, causal: bool) -> Tensor:
    """What each key gives to each query through each head, (T, H, S, D)."""
    width = x.size(1) // heads
    queries, keys, values = (
        linear(layer, states).view(len(states), heads, width).transpose(0, 1)
        for layer, states in (
            (module.query_projection, x),
            (module.key_projection, memory),
            (module.value_projection, memory),
        )
    )
    scores = queries @ keys.transpose(1, 2) / width**0.5
    if causal:
        scores = scores.masked_fill(torch.ones_like(scores[0]).triu(1).bool(), -1e30)
    matrix = module.output_projection.weight.double().view(-1, heads, width)  # (D, H, K)
    return torch.einsum("hts,hsk,dhk->thsd", scores.softmax(-1), values, matrix)


def shares(residual: Any, x: Tensor, given: Tensor, bias: Tensor, *, own: bool) -> tuple[Tensor, Tensor]:
    """(T, S) and what comes out, (T, D); `own`: the residual is added to the token's own vector, else it comes last."""
    vectors, whole = given.sum(1), x + given.sum((1, 2)) + bias  # (T, S, D), (T, D)
    if own:
        parts = vectors + torch.eye(len(x)).double()[:, :, None] * x[:, None]
    else:
        parts = torch.cat([vectors, x[:, None]], 1)
    output = whole
    if not residual.pre:
        parts, output = held(residual.norm, whole, parts), norm(residual.norm, whole)
    nearer = (output.abs().sum(-1)[:, None] - (output[:, None] - parts).abs().sum(-1)).clamp(min=0)
    return nearer / nearer.sum(-1, keepdim=True), output


def fed(module: Any, x: Tensor) -> Tensor:
    return linear(module.contract, module.activation(linear(module.expand, x)))


def embedded(module: Any, ids: Sequence[int]) -> tuple[Tensor, Tensor]:
    return module.tokens.weight.double()[list(ids)] * module.scale, module.positions.table.double()[: len(ids)]


@torch.no_grad()
def reference(model: Transformer, source: Sequence[int], read: Sequence[int]) -> Reference:
    """Run the model over a source and what its decoder reads."""
    heads, pre = model.config.num_heads, model.config.norm == "pre"
    x = sum(embedded(model.encoder.embedding, source))
    assert isinstance(x, Tensor)
    encoder = torch.eye(len(source)).double()
    for layer in model.encoder.layers:
        module: Any = layer
        around = module.self_attention_residual
        inner = norm(around.norm, x) if pre else x
        given = attended(module.self_attention, heads, inner, inner, causal=False)
        found, x = shares(around, x, given, module.self_attention.output_projection.bias.double(), own=True)
        encoder = found @ encoder
        around = module.feed_forward_residual
        inner = fed(module.feed_forward, norm(around.norm, x) if pre else x)
        x = x + inner if pre else norm(around.norm, x + inner)
    memory = norm(model.encoder.norm, x) if pre else x
    word, position = embedded(model.decoder.embedding, read)
    x, biases = word + position, torch.zeros_like(word)
    parts: dict[Name, Tensor] = {("word",): word, ("position",): position}
    states, count = [x], len(read)
    target, from_source = torch.eye(count).double(), torch.zeros(count, len(source)).double()

    def behind(layer: Any, whole: Tensor) -> None:
        nonlocal biases
        for name, part in parts.items():
            parts[name] = held(layer, whole, part)
        biases = held(layer, whole, biases) + layer.bias.double()

    for index, layer in enumerate(model.decoder.layers):
        module = layer
        for kind in ("decoder", "cross"):
            place = "self" if kind == "decoder" else kind
            around, attention = getattr(module, f"{place}_attention_residual"), getattr(module, f"{place}_attention")
            inner = norm(around.norm, x) if pre else x
            given = attended(attention, heads, inner, inner if kind == "decoder" else memory, causal=kind == "decoder")
            bias = attention.output_projection.bias.double()
            found, output = shares(around, x, given, bias, own=kind == "decoder")
            if kind == "decoder":
                target, from_source = found @ target, found @ from_source
            else:
                target = found[:, -1:] * target
                from_source = found[:, -1:] * from_source + found[:, :-1] @ encoder
            parts |= {(kind, index, head): given[:, head].sum(1) for head in range(heads)}
            biases = biases + bias
            if not pre:
                behind(around.norm, x + given.sum((1, 2)) + bias)
            x = output
        around = module.feed_forward_residual
        added = fed(module.feed_forward, norm(around.norm, x) if pre else x)
        parts["feed-forward", index] = added
        whole = x + added
        if not pre:
            behind(around.norm, whole)
        x = whole if pre else norm(around.norm, whole)
        states.append(x)
    if pre:
        behind(model.decoder.norm, x)
    final = [norm(model.decoder.norm, state) if pre else state for state in states]
    vocabulary = model.output_projection.weight.double()
    return Reference(
        lens=[state @ vocabulary.T for state in final],
        parts=parts,
        biases=biases,
        target=target,
        source=from_source,
    )

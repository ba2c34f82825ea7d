"""State dicts with the tensor names of tutorials, and their mathematics written out as plain functions."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from model.network.positional import sinusoidal_table

__all__ = ["HEADS", "SPELLINGS", "Spelling", "logits_of", "state_of"]

WIDTH, HEADS, INNER, LAYERS, LENGTH = 32, 4, 48, 2, 30


@dataclass(frozen=True, kw_only=True)
class Spelling:
    """How one tutorial spells the parts of its model, and what its code computes."""

    prefix: str = ""  # before "encoder" and "decoder"
    encoder: tuple[str, str, str]  # in a layer: the attention, and the norms of attention and feed-forward
    decoder: tuple[str, str, str, str, str]  # both attentions, and the three norms
    projections: tuple[str, ...]  # queries, keys, values, output; or the joined matrix and the output
    feed_forward: tuple[str, str]
    norm: tuple[str, str] = ("weight", "bias")
    last_norm: str = ""  # of each stack; "" without one
    ends: tuple[str, str, str]  # both embeddings and the output
    tables: tuple[str, str] = ("", "")
    table_shape: tuple[int, ...] = (LENGTH, WIDTH)
    learned: bool = False
    biases: bool = True  # of the projections
    output_bias: bool = True
    pre: bool = False
    scaled: bool = True
    epsilon: float = 1e-5
    sample: bool = False
    wrapper: str = ""
    asked: set[str] = field(default_factory=lambda: {"num_heads"})


TORCH = {
    "prefix": "transformer.",
    "encoder": ("self_attn", "norm1", "norm2"),
    "decoder": ("self_attn", "multihead_attn", "norm1", "norm2", "norm3"),
    "projections": ("in_proj_", "out_proj."),
    "feed_forward": ("linear1", "linear2"),
    "last_norm": "norm",
    "table_shape": (LENGTH, 1, WIDTH),
    "asked": {"num_heads", "norm", "activation"},
}
SAMPLE = {"epsilon": 1e-6, "sample": True, "pre": True, "last_norm": "norm", "table_shape": (1, LENGTH, WIDTH)}
SPELLINGS = {
    "annotated": Spelling(
        encoder=("self_attn", "sublayer.0.norm", "sublayer.1.norm"),
        decoder=("self_attn", "src_attn", "sublayer.0.norm", "sublayer.1.norm", "sublayer.2.norm"),
        projections=("linears.0.", "linears.1.", "linears.2.", "linears.3."),
        feed_forward=("feed_forward.w_1", "feed_forward.w_2"),
        norm=("a_2", "b_2"),
        ends=("src_embed.0.lut", "tgt_embed.0.lut", "generator.proj"),
        tables=("src_embed.1.pe", "tgt_embed.1.pe"),
        **SAMPLE,
    ),
    "hyunwoongko": Spelling(
        encoder=("attention", "norm1", "norm2"),
        decoder=("self_attention", "enc_dec_attention", "norm1", "norm2", "norm3"),
        projections=("w_q.", "w_k.", "w_v.", "w_concat."),
        feed_forward=("ffn.linear1", "ffn.linear2"),
        norm=("gamma", "beta"),
        ends=("encoder.emb.tok_emb", "decoder.emb.tok_emb", "decoder.linear"),
        scaled=False,
        epsilon=1e-12,
    ),
    "hkproj": Spelling(
        encoder=("self_attention_block", "residual_connections.0.norm", "residual_connections.1.norm"),
        decoder=(
            *("self_attention_block", "cross_attention_block"),
            *(f"residual_connections.{i}.norm" for i in range(3)),
        ),
        projections=("w_q.", "w_k.", "w_v.", "w_o."),
        feed_forward=("feed_forward_block.linear_1", "feed_forward_block.linear_2"),
        norm=("alpha", "bias"),
        ends=("src_embed.embedding", "tgt_embed.embedding", "projection_layer.proj"),
        tables=("src_pos.pe", "tgt_pos.pe"),
        biases=False,
        wrapper="model_state_dict",
        **SAMPLE,
    ),
    "bentrevett": Spelling(
        encoder=("self_attention", "self_attn_layer_norm", "ff_layer_norm"),
        decoder=("self_attention", "encoder_attention", "self_attn_layer_norm", "enc_attn_layer_norm", "ff_layer_norm"),
        projections=("fc_q.", "fc_k.", "fc_v.", "fc_o."),
        feed_forward=("positionwise_feedforward.fc_1", "positionwise_feedforward.fc_2"),
        ends=("encoder.tok_embedding", "decoder.tok_embedding", "decoder.fc_out"),
        tables=("encoder.pos_embedding.weight", "decoder.pos_embedding.weight"),
        learned=True,
    ),
    "joeynmt": Spelling(
        encoder=("src_src_att", "layer_norm", "feed_forward.layer_norm"),
        decoder=("trg_trg_att", "src_trg_att", "x_layer_norm", "dec_layer_norm", "feed_forward.layer_norm"),
        projections=("q_layer.", "k_layer.", "v_layer.", "output_layer."),
        feed_forward=("feed_forward.pwff_layer.0", "feed_forward.pwff_layer.3"),
        last_norm="layer_norm",
        ends=("src_embed.lut", "trg_embed.lut", "decoder.output_layer"),
        tables=("encoder.pe.pe", "decoder.pe.pe"),
        table_shape=(1, LENGTH, WIDTH),
        output_bias=False,
        pre=True,
        epsilon=1e-6,
        wrapper="model_state",
        asked={"num_heads", "activation", "scale_embeddings"},
    ),
    "PyTorch tutorial": Spelling(
        ends=("src_tok_emb.embedding", "tgt_tok_emb.embedding", "generator"),
        tables=("positional_encoding.pos_embedding",) * 2,
        **TORCH,
    ),
    "PyTorch examples": Spelling(
        ends=("src_embedding", "tgt_embedding", "ff"), tables=("pos_enc.pos_embedding",) * 2, scaled=False, **TORCH
    ),
}


def state_of(spelling: Spelling, rows: tuple[int, int]) -> dict[str, Tensor]:
    """A state dict with random weights, biases and norms.

    Args:
        spelling: The names.
        rows: Tokens of the source and of the target.
    """
    random = torch.Generator().manual_seed(0)

    def drawn(*shape: int, scale: float = 0.25) -> Tensor:
        return scale * torch.randn(*shape, generator=random)

    state: dict[str, Tensor] = {}
    for stack, layer in (("encoder", spelling.encoder), ("decoder", spelling.decoder)):
        for i in range(LAYERS):
            at = f"{spelling.prefix}{stack}.layers.{i}."
            norms = layer[len(layer) // 2 :]
            for attention in layer[: len(layer) // 2]:
                for name in spelling.projections:
                    size = 3 * WIDTH if name == "in_proj_" else WIDTH
                    state[f"{at}{attention}.{name}weight"] = drawn(size, WIDTH)
                    if spelling.biases:
                        state[f"{at}{attention}.{name}bias"] = drawn(size)
            for name, shape in zip(spelling.feed_forward, ((INNER, WIDTH), (WIDTH, INNER)), strict=True):
                state |= {f"{at}{name}.weight": drawn(*shape), f"{at}{name}.bias": drawn(shape[0])}
            for name in norms:
                state |= norm_of(f"{at}{name}", spelling, drawn)
        if spelling.last_norm:
            state |= norm_of(f"{spelling.prefix}{stack}.{spelling.last_norm}", spelling, drawn)
    source, target, output = spelling.ends
    state |= {f"{source}.weight": drawn(rows[0], WIDTH), f"{target}.weight": drawn(rows[1], WIDTH)}
    state[f"{output}.weight"] = drawn(rows[1], WIDTH)
    if spelling.output_bias:
        state[f"{output}.bias"] = drawn(rows[1])
    for name in filter(None, spelling.tables):
        table = drawn(LENGTH, WIDTH) if spelling.learned else sinusoidal_table(LENGTH, WIDTH)
        state[name] = table.reshape(spelling.table_shape)
    return state


def norm_of(name: str, spelling: Spelling, drawn: object) -> dict[str, Tensor]:
    weight, bias = spelling.norm
    assert callable(drawn)
    return {f"{name}.{weight}": 1 + drawn(WIDTH), f"{name}.{bias}": drawn(WIDTH)}


def logits_of(
    spelling: Spelling, state: Mapping[str, Tensor], source: Tensor, target: Tensor
) -> tuple[Tensor, dict[str, list[Tensor]]]:
    """What the code of the tutorial computes: logits (T, V), and the maps (H, T, S) of each layer, kind → layers."""
    maps: dict[str, list[Tensor]] = {"encoder": [], "decoder": [], "cross": []}

    def normed(x: Tensor, name: str) -> Tensor:
        weight, bias = (state[f"{name}.{part}"] for part in spelling.norm)
        if not spelling.sample:
            return F.layer_norm(x, (WIDTH,), weight, bias, spelling.epsilon)
        return weight * (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + spelling.epsilon) + bias

    def attended(x: Tensor, memory: Tensor, name: str, kind: str) -> Tensor:
        *inner, last = spelling.projections
        parts = [(state[f"{name}.{part}weight"], state.get(f"{name}.{part}bias")) for part in inner]
        if len(parts) == 1:
            (matrix, bias), *_ = parts
            assert bias is not None
            parts = [*zip(matrix.chunk(3), bias.chunk(3), strict=True)]
        read = (x, memory, memory)
        q, k, v = (
            F.linear(y, *part).unflatten(-1, (HEADS, -1)).transpose(0, 1) for y, part in zip(read, parts, strict=True)
        )
        scores = q @ k.transpose(-2, -1) / math.sqrt(WIDTH // HEADS)
        if kind == "decoder":
            scores = scores.masked_fill(torch.ones(scores.shape[-2:]).triu(1).bool(), -1e9)
        maps[kind].append(scores.softmax(-1))
        joined = (maps[kind][-1] @ v).transpose(0, 1).flatten(1)
        return F.linear(joined, state[f"{name}.{last}weight"], state.get(f"{name}.{last}bias"))

    def around(x: Tensor, norm: str, sublayer: object) -> Tensor:
        assert callable(sublayer)
        return x + sublayer(normed(x, norm)) if spelling.pre else normed(x + sublayer(x), norm)

    def run(stack: str, layer: tuple[str, ...], x: Tensor, memory: Tensor | None) -> Tensor:
        for i in range(LAYERS):
            at = f"{spelling.prefix}{stack}.layers.{i}."
            norms = [at + name for name in layer[len(layer) // 2 :]]
            x = around(x, norms[0], lambda y, at=at: attended(y, y, at + layer[0], stack))
            if memory is not None:
                x = around(x, norms[1], lambda y, at=at: attended(y, memory, at + layer[1], "cross"))
            first, second = ((state[f"{at}{n}.weight"], state[f"{at}{n}.bias"]) for n in spelling.feed_forward)
            x = around(x, norms[-1], lambda y, a=first, b=second: F.linear(F.linear(y, *a).relu(), *b))
        return normed(x, f"{spelling.prefix}{stack}.{spelling.last_norm}") if spelling.last_norm else x

    def embedded(ids: Tensor, side: int) -> Tensor:
        vectors = state[f"{spelling.ends[side]}.weight"][ids] * (math.sqrt(WIDTH) if spelling.scaled else 1.0)
        name = spelling.tables[side]
        table = state[name].reshape(LENGTH, WIDTH) if name else sinusoidal_table(LENGTH, WIDTH)
        return vectors + table[: len(ids)]

    memory = run("encoder", spelling.encoder, embedded(source, 0), None)
    states = run("decoder", spelling.decoder, embedded(target, 1), memory)
    output = spelling.ends[2]
    return F.linear(states, state[f"{output}.weight"], state.get(f"{output}.bias")), maps

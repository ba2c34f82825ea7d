"""The names that tutorials give to the tensors of a decoder alone, and how these tensors get our names."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from model.checkpoints.layouts import NormForm
from model.config.section import require

__all__ = ["DECODER_LAYOUTS", "OUTPUT", "TOKENS", "Arranged", "arranged"]

ATTENTION = ("query", "key", "value", "output")
FEED_FORWARD = ("expand", "contract", "gate")
TOKENS, OUTPUT = "decoder.embedding.tokens", "output_projection"


@dataclass(frozen=True, kw_only=True)
class DecoderLayout:
    """The names in the code of one tutorial. `[k]` is the k-th third of a joined matrix, `{h}` is a head."""

    tokens: str  # the embedding
    positions: str = ""  # the tensor with the table of positions
    output: str  # from the last state to the logits
    prefix: str = ""  # before the names of the layers and of the last norm
    layer: str
    attention: tuple[str, str, str, str]  # queries, keys, values, and the matrix that mixes the heads
    feed_forward: tuple[str, ...]  # the first matrix, the last one, and the gate if there is one
    norms: tuple[str, str]  # of attention and of the feed-forward network
    last_norm: str
    norm: NormForm = field(default_factory=NormForm)

    def modules_in(self, names: Mapping[str, Any]) -> dict[str, str]:
        """Our module → theirs, with `{i}` for the layer.

        Args:
            names: The table [names] of `headlight.toml`, which may change some names.
        """
        before = names.get("prefix", self.prefix)
        parts = {
            **{f"self_attention.{part}_projection": name for part, name in zip(ATTENTION, self.attention, strict=True)},
            **{f"feed_forward.{part}": name for part, name in zip(FEED_FORWARD, self.feed_forward, strict=False)},
            "self_attention_residual.norm": self.norms[0],
            "feed_forward_residual.norm": self.norms[1],
        }
        return {
            TOKENS: names.get("target_embedding", self.tokens),
            **{f"decoder.layers.{{i}}.{ours}": f"{before}{self.layer}.{theirs}" for ours, theirs in parts.items()},
            "decoder.norm": f"{before}{self.last_norm}",
            OUTPUT: names.get("output", self.output),
            **names.get("modules", {}),
        }


DECODER_LAYOUTS: Mapping[str, DecoderLayout] = {
    "torch": DecoderLayout(  # torch.nn.TransformerEncoder with a causal mask, in PyTorch's tutorial
        tokens="embedding",
        positions="pos_encoder.pe",
        output="linear",
        prefix="transformer_encoder.",
        layer="layers.{i}",
        attention=("self_attn.in_proj[0]", "self_attn.in_proj[1]", "self_attn.in_proj[2]", "self_attn.out_proj"),
        feed_forward=("linear1", "linear2"),
        norms=("norm1", "norm2"),
        last_norm="norm",
    ),
    "gpt": DecoderLayout(  # github.com/karpathy/nanoGPT and minGPT
        tokens="transformer.wte",
        positions="transformer.wpe.weight",
        output="lm_head",
        prefix="transformer.",
        layer="h.{i}",
        attention=("attn.c_attn[0]", "attn.c_attn[1]", "attn.c_attn[2]", "attn.c_proj"),
        feed_forward=("mlp.c_fc", "mlp.c_proj"),
        norms=("ln_1", "ln_2"),
        last_norm="ln_f",
    ),
    "llama": DecoderLayout(  # github.com/karpathy/llama2.c, with the names of Llama's own code
        tokens="tok_embeddings",
        output="output",
        layer="layers.{i}",
        attention=("attention.wq", "attention.wk", "attention.wv", "attention.wo"),
        feed_forward=("feed_forward.w3", "feed_forward.w2", "feed_forward.w1"),
        norms=("attention_norm", "ffn_norm"),
        last_norm="norm",
    ),
    "lecture": DecoderLayout(  # gpt.py of github.com/karpathy/ng-video-lecture: each head has its own matrices
        tokens="token_embedding_table",
        positions="position_embedding_table.weight",
        output="lm_head",
        layer="blocks.{i}",
        attention=("sa.heads.{h}.query", "sa.heads.{h}.key", "sa.heads.{h}.value", "sa.proj"),
        feed_forward=("ffwd.net.0", "ffwd.net.2"),
        norms=("ln1", "ln2"),
        last_norm="ln_f",
    ),
    "scratch": DecoderLayout(  # "Build a Large Language Model (From Scratch)" (Raschka 2024)
        tokens="tok_emb",
        positions="pos_emb.weight",
        output="out_head",
        layer="trf_blocks.{i}",
        attention=("att.W_query", "att.W_key", "att.W_value", "att.out_proj"),
        feed_forward=("ff.layers.0", "ff.layers.2"),
        norms=("norm1", "norm2"),
        last_norm="final_norm",
        norm=NormForm(weight="scale", bias="shift"),
    ),
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Arranged:
    """The tensors of a file with our names."""

    tensors: Mapping[str, Tensor]  # name of our parameter → its values
    names: Mapping[str, tuple[str, ...]]  # name of our parameter → names in the file


def arranged(saved: Mapping[str, Tensor], modules: Mapping[str, str], layers: int, norm: NormForm) -> Arranged:
    """Find the tensors of each of our modules, and join what belongs together.

    Args:
        saved: Name → tensor, as in the file.
        modules: See `DecoderLayout.modules_in`.
        layers: Of the decoder.
        norm: How the norms name their parameters.

    Raises:
        ConfigError: a joined matrix cannot be divided into queries, keys and values.
    """
    tensors, names = dict[str, Tensor](), dict[str, tuple[str, ...]]()
    for ours, theirs in modules.items():
        for i in map(str, range(layers if "{i}" in ours else 1)):
            for part in ("weight", "bias"):
                spelled = getattr(norm, part) if ours.endswith("norm") else part
                module, _, third = theirs.replace("{i}", i).partition("[")
                if found := tuple(names_in(saved, module, spelled)):
                    name = f"{ours.replace('{i}', i)}.{part}"
                    tensor = saved[found[0]] if len(found) == 1 else torch.cat([saved[one] for one in found])
                    tensors[name] = third_of(tensor, found[0], int(third[0])) if third else tensor
                    names[name] = found
    return Arranged(tensors=tensors, names=names)


def names_in(saved: Mapping[str, Tensor], module: str, part: str) -> Iterator[str]:
    """The names in a file of a part of a module: one, one for each head, or none."""
    if "{h}" in module:
        head = 0
        while one := next(names_in(saved, module.replace("{h}", str(head)), part), ""):
            yield one
            head += 1
        return
    spellings = (f"{module}.{part}", f"{module}_{part}")  # torch.nn.MultiheadAttention has in_proj_weight
    yield from (name for name in spellings if name in saved)


def third_of(tensor: Tensor, name: str, k: int) -> Tensor:
    require(
        tensor.dim() > 0 and len(tensor) % 3 == 0,
        "{name} has the shape {shape}. Its rows must be queries, keys and values.",
        name=name,
        shape=list(tensor.shape),
    )
    return tensor.chunk(3)[k]

"""The names that tutorials give to the parts of a Transformer, and where a file has each of our parameters."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count, takewhile
from typing import Any, Literal, Self

import torch
from torch import Tensor

from model.config.section import Section, require
from model.safety.torch_files import SavedFile

__all__ = ["ENDS", "LAYER", "LAYOUTS", "Layout", "Names", "NormForm", "Place", "TutorialTask"]

TutorialTask = Literal["translation", "continuation"]  # an encoder-decoder, or a decoder alone
ENDS = {  # the setting in [names] → our module
    "source_embedding": "encoder.embedding.tokens",
    "target_embedding": "decoder.embedding.tokens",
    "output": "output_projection",
}
NO_CHANGES: Mapping[str, Any] = {}
LAYER = re.compile(r"\.layers\.(\d+)\.")
ATTENTION = ("query_projection", "key_projection", "value_projection", "output_projection")
FEED_FORWARD = ("feed_forward.expand", "feed_forward.contract", "feed_forward.gate")
PARTS = {  # with and without cross-attention: what a layer has besides the matrices of its feed-forward network
    3: ("self_attention", "self_attention_residual.norm", "feed_forward_residual.norm"),
    5: (
        *("self_attention", "self_attention_residual.norm"),
        *("cross_attention", "cross_attention_residual.norm", "feed_forward_residual.norm"),
    ),
}


@dataclass(frozen=True, kw_only=True)
class NormForm(Section):
    """The table [norm] of `headlight.toml`: how norms name their parameters, and how they divide."""

    weight: str = "weight"
    bias: str = "bias"
    epsilon: float = 1e-5
    deviation: Literal["population", "sample"] = "population"  # sample: see `SampleNorm`

    def __post_init__(self) -> None:
        super().__post_init__()
        require(self.epsilon >= 0, "epsilon is {epsilon}; it must be 0 or larger, such as 1e-5.", epsilon=self.epsilon)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The names in the code of one tutorial.

    `{i}` is a layer, `{h}` a head, `[k]` the k-th third of a joined matrix.
    """

    attention: tuple[str, str, str, str]  # queries, keys, values, and the matrix that mixes the heads
    feed_forward: tuple[str, ...]  # the first matrix, the last one, and the gate if there is one
    encoder: tuple[str, ...] = ()  # of a layer: what `PARTS` names, in the same order
    decoder: tuple[str, ...]
    layer: str = "{stack}.layers.{i}"
    last_norm: str = "{stack}.norm"
    norm: NormForm = field(default_factory=NormForm)
    names: Mapping[str, str] = field(default_factory=dict)  # the usual table [names] of a decoder alone
    positions: str = ""  # the tensor with its table of positions

    @property
    def stacks(self) -> dict[str, tuple[str, ...]]:
        """Stack → the names in its layers."""
        both = {"encoder": self.encoder, "decoder": self.decoder}
        return {stack: parts for stack, parts in both.items() if parts}

    def modules_in(self, names: Mapping[str, Any]) -> dict[str, str]:
        """Our module → theirs, with `{i}` for the layer.

        Args:
            names: The table [names] of `headlight.toml`, which may change some names.
        """
        usual = {**self.names, **names}
        prefix = str(usual.get("prefix", ""))
        found = {ours: str(usual[key]) for key, ours in ENDS.items() if key in usual}
        for stack, parts in self.stacks.items():
            layer = prefix + self.layer.replace("{stack}", stack)
            found |= {f"{stack}.layers.{{i}}.{ours}": f"{layer}.{theirs}" for ours, theirs in self.in_layer(parts)}
            found[f"{stack}.norm"] = prefix + self.last_norm.replace("{stack}", stack)
        before = prefix if self.encoder else ""  # in the description of a decoder alone, these names are whole
        own = sorted(names.get("modules", {}).items(), key=lambda pair: "{stack}" not in pair[0])
        for one, theirs in own:  # a name for one stack counts more than a name for both
            for ours in {one.replace("{stack}", stack) for stack in self.stacks}:
                found[ours] = before + str(theirs).replace("{stack}", ours.partition(".")[0])
        return found

    def in_layer(self, parts: tuple[str, ...]) -> Iterator[tuple[str, str]]:
        """Our modules in a layer, and theirs."""
        for ours, theirs in zip(PARTS[len(parts)], parts, strict=True):
            if ours.endswith("attention"):
                yield from ((f"{ours}.{a}", f"{theirs}.{b}") for a, b in zip(ATTENTION, self.attention, strict=True))
            else:
                yield ours, theirs
        yield from zip(FEED_FORWARD, self.feed_forward, strict=False)


TORCH = ("in_proj[0]", "in_proj[1]", "in_proj[2]", "out_proj")  # of torch.nn.MultiheadAttention
SAMPLE: dict[str, Any] = {"epsilon": 1e-6, "deviation": "sample"}
LAYOUTS: Mapping[TutorialTask, Mapping[str, Layout]] = {
    "translation": {
        "torch": Layout(  # torch.nn.Transformer
            attention=TORCH,
            feed_forward=("linear1", "linear2"),
            encoder=("self_attn", "norm1", "norm2"),
            decoder=("self_attn", "norm1", "multihead_attn", "norm2", "norm3"),
        ),
        "annotated": Layout(  # "The Annotated Transformer" (Rush 2018)
            attention=("linears.0", "linears.1", "linears.2", "linears.3"),
            feed_forward=("feed_forward.w_1", "feed_forward.w_2"),
            encoder=("self_attn", "sublayer.0.norm", "sublayer.1.norm"),
            decoder=("self_attn", "sublayer.0.norm", "src_attn", "sublayer.1.norm", "sublayer.2.norm"),
            norm=NormForm(weight="a_2", bias="b_2", **SAMPLE),
        ),
        "hyunwoongko": Layout(  # github.com/hyunwoongko/transformer
            attention=("w_q", "w_k", "w_v", "w_concat"),
            feed_forward=("ffn.linear1", "ffn.linear2"),
            encoder=("attention", "norm1", "norm2"),
            decoder=("self_attention", "norm1", "enc_dec_attention", "norm2", "norm3"),
            norm=NormForm(weight="gamma", bias="beta", epsilon=1e-12),
        ),
        "hkproj": Layout(  # github.com/hkproj/pytorch-transformer
            attention=("w_q", "w_k", "w_v", "w_o"),
            feed_forward=("feed_forward_block.linear_1", "feed_forward_block.linear_2"),
            encoder=("self_attention_block", "residual_connections.0.norm", "residual_connections.1.norm"),
            decoder=(
                *("self_attention_block", "residual_connections.0.norm", "cross_attention_block"),
                *("residual_connections.1.norm", "residual_connections.2.norm"),
            ),
            norm=NormForm(weight="alpha", bias="bias", **SAMPLE),
        ),
        "bentrevett": Layout(  # github.com/bentrevett/pytorch-seq2seq, "Attention is All You Need"
            attention=("fc_q", "fc_k", "fc_v", "fc_o"),
            feed_forward=("positionwise_feedforward.fc_1", "positionwise_feedforward.fc_2"),
            encoder=("self_attention", "self_attn_layer_norm", "ff_layer_norm"),
            decoder=(
                *("self_attention", "self_attn_layer_norm", "encoder_attention"),
                *("enc_attn_layer_norm", "ff_layer_norm"),
            ),
        ),
        "joeynmt": Layout(  # github.com/joeynmt/joeynmt
            attention=("q_layer", "k_layer", "v_layer", "output_layer"),
            feed_forward=("feed_forward.pwff_layer.0", "feed_forward.pwff_layer.3"),
            encoder=("src_src_att", "layer_norm", "feed_forward.layer_norm"),
            decoder=("trg_trg_att", "x_layer_norm", "src_trg_att", "dec_layer_norm", "feed_forward.layer_norm"),
            last_norm="{stack}.layer_norm",
            norm=NormForm(epsilon=1e-6),
        ),
    },
    "continuation": {
        "torch": Layout(  # torch.nn.TransformerEncoder with a causal mask, in PyTorch's tutorial
            names={"target_embedding": "embedding", "output": "linear", "prefix": "transformer_encoder."},
            positions="pos_encoder.pe",
            layer="layers.{i}",
            attention=TORCH,
            feed_forward=("linear1", "linear2"),
            decoder=("self_attn", "norm1", "norm2"),
            last_norm="norm",
        ),
        "gpt": Layout(  # github.com/karpathy/nanoGPT and minGPT
            names={"target_embedding": "transformer.wte", "output": "lm_head", "prefix": "transformer."},
            positions="transformer.wpe.weight",
            layer="h.{i}",
            attention=("c_attn[0]", "c_attn[1]", "c_attn[2]", "c_proj"),
            feed_forward=("mlp.c_fc", "mlp.c_proj"),
            decoder=("attn", "ln_1", "ln_2"),
            last_norm="ln_f",
        ),
        "llama": Layout(  # github.com/karpathy/llama2.c, with the names of Llama's own code
            names={"target_embedding": "tok_embeddings", "output": "output"},
            layer="layers.{i}",
            attention=("wq", "wk", "wv", "wo"),
            feed_forward=("feed_forward.w3", "feed_forward.w2", "feed_forward.w1"),
            decoder=("attention", "attention_norm", "ffn_norm"),
            last_norm="norm",
        ),
        "lecture": Layout(  # gpt.py of github.com/karpathy/ng-video-lecture: each head has its own matrices
            names={"target_embedding": "token_embedding_table", "output": "lm_head"},
            positions="position_embedding_table.weight",
            layer="blocks.{i}",
            attention=("heads.{h}.query", "heads.{h}.key", "heads.{h}.value", "proj"),
            feed_forward=("ffwd.net.0", "ffwd.net.2"),
            decoder=("sa", "ln1", "ln2"),
            last_norm="ln_f",
        ),
        "scratch": Layout(  # "Build a Large Language Model (From Scratch)" (Raschka 2024)
            names={"target_embedding": "tok_emb", "output": "out_head"},
            positions="pos_emb.weight",
            layer="trf_blocks.{i}",
            attention=("W_query", "W_key", "W_value", "out_proj"),
            feed_forward=("ff.layers.0", "ff.layers.2"),
            decoder=("att", "norm1", "norm2"),
            last_norm="final_norm",
            norm=NormForm(weight="scale", bias="shift"),
        ),
    },
}


@dataclass(frozen=True, kw_only=True, eq=False)
class Place:
    """Where a file has one of our parameters."""

    pattern: str  # our name, the same for all layers
    names: str  # in the file, or the one that it should have
    used: tuple[str, ...] = ()  # the tensors in the file; several if each head has its own, none if they are missing
    tensor: Tensor | None = None  # these tensors, joined, or a third of them


@dataclass(frozen=True, kw_only=True)
class Names:
    """The table [names] of `headlight.toml`, with all names that follow from its layout."""

    layout: str
    prefix: str
    modules: Mapping[str, str]  # our module → theirs
    norm: NormForm
    positions: str  # see `Layout.positions`

    @classmethod
    def of(cls, name: str, layout: Layout, given: Mapping[str, Any], norm: Mapping[str, Any] = NO_CHANGES) -> Self:
        """The names of a layout, with the tables [names] and [norm], which may change some of them."""
        return cls(
            layout=name,
            prefix=str(given.get("prefix", layout.names.get("prefix", ""))),
            modules=layout.modules_in(given),
            norm=NormForm.from_dict(layout.norm.to_dict() | dict(norm)),
            positions=layout.positions,
        )

    def find(self, ours: str, saved: SavedFile) -> Place:
        """The place in a file of one of our parameters, such as "encoder.norm.weight".

        Raises:
            ConfigError: a joined matrix cannot be divided into queries, keys and values.
        """
        module, _, part = ours.rpartition(".")
        number, pattern = LAYER.search(module), LAYER.sub(".layers.{i}.", module)
        theirs = self.modules.get(pattern, self.prefix + pattern).replace("{i}", number[1] if number else "")
        theirs, _, third = saved.key(theirs).partition("[")
        spelled = getattr(self.norm, part) if module.endswith("norm") else part
        used = tuple(names_in(saved, theirs, spelled))
        between = "_" if theirs.endswith("in_proj") else "."  # torch.nn.MultiheadAttention has in_proj_weight
        expected = f"{theirs.replace('{h}', '0')}{between}{spelled}"
        if not used:
            return Place(pattern=f"{pattern}.{part}", names=expected)
        tensor = saved.tensors[used[0]] if len(used) == 1 else torch.cat([saved.tensors[one] for one in used])
        return Place(
            pattern=f"{pattern}.{part}",
            names=", ".join(used),
            used=used,
            tensor=third_of(tensor, used[0], int(third[0])) if third else tensor,
        )


def names_in(saved: SavedFile, module: str, part: str) -> Iterator[str]:
    """The names in a file of a part of a module: one, one for each head, or none."""
    heads = (module.replace("{h}", str(head)) for head in count()) if "{h}" in module else iter([module])
    spellings = ((name for name in (f"{one}.{part}", f"{one}_{part}") if name in saved.tensors) for one in heads)
    return takewhile(bool, (next(names, "") for names in spellings))


def third_of(tensor: Tensor, name: str, k: int) -> Tensor:
    require(
        tensor.dim() > 0 and len(tensor) % 3 == 0,
        "{name} has the shape {shape}. Its rows must be queries, keys and values.",
        name=name,
        shape=list(tensor.shape),
    )
    return tensor.chunk(3)[k]

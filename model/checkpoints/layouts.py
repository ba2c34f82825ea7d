"""The names that tutorials give to the parts of a Transformer."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from model.config.section import Section, require

__all__ = ["LAYOUTS", "Layout", "Names", "NormForm", "SavedName"]


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
    """The names in the code of one tutorial."""

    modules: Mapping[str, str]  # our module → their module; `[k]` is the k-th third of queries, keys and values
    norm: NormForm = field(default_factory=NormForm)


ATTENTION = ("query_projection", "key_projection", "value_projection", "output_projection")
PARTS = {  # what a layer has besides attention, in the order of the names below
    "encoder": ("self_attention_residual.norm", "feed_forward_residual.norm"),
    "decoder": ("self_attention_residual.norm", "cross_attention_residual.norm", "feed_forward_residual.norm"),
}


def names_of(
    *,
    projections: tuple[str, str, str, str],
    attentions: tuple[str, str, str],
    feed_forward: tuple[str, str],
    encoder_norms: tuple[str, str],
    decoder_norms: tuple[str, str, str],
    last_norm: str = "norm",
) -> dict[str, str]:
    """The names of all modules.

    Args:
        projections: Of queries, keys, values and the output, inside an attention.
        attentions: The encoder's, the decoder's own, and the one to the source.
        feed_forward: Its two matrices.
        encoder_norms: After attention and feed-forward, or before them.
        decoder_norms: Of self-attention, cross-attention and feed-forward.
        last_norm: Of a stack.
    """
    encoder, decoder, cross = attentions
    names = {f"{stack}.norm": f"{stack}.{last_norm}" for stack in PARTS}
    for stack, norms in (("encoder", encoder_norms), ("decoder", decoder_norms)):
        layer = f"{stack}.layers.{{i}}"
        pairs = [*zip(PARTS[stack], norms, strict=True)]
        pairs += [("feed_forward.expand", feed_forward[0]), ("feed_forward.contract", feed_forward[1])]
        own = (
            {"self_attention": encoder} if stack == "encoder" else {"self_attention": decoder, "cross_attention": cross}
        )
        for ours, theirs in own.items():
            pairs += [(f"{ours}.{part}", f"{theirs}.{name}") for part, name in zip(ATTENTION, projections, strict=True)]
        names |= {f"{layer}.{ours}": f"{layer}.{theirs}" for ours, theirs in pairs}
    return names


SAMPLE = {"epsilon": 1e-6, "deviation": "sample"}
LAYOUTS: Mapping[str, Layout] = {
    "torch": Layout(  # torch.nn.Transformer
        modules=names_of(
            projections=("in_proj[0]", "in_proj[1]", "in_proj[2]", "out_proj"),
            attentions=("self_attn", "self_attn", "multihead_attn"),
            feed_forward=("linear1", "linear2"),
            encoder_norms=("norm1", "norm2"),
            decoder_norms=("norm1", "norm2", "norm3"),
        )
    ),
    "annotated": Layout(  # "The Annotated Transformer" (Rush 2018)
        modules=names_of(
            projections=("linears.0", "linears.1", "linears.2", "linears.3"),
            attentions=("self_attn", "self_attn", "src_attn"),
            feed_forward=("feed_forward.w_1", "feed_forward.w_2"),
            encoder_norms=("sublayer.0.norm", "sublayer.1.norm"),
            decoder_norms=("sublayer.0.norm", "sublayer.1.norm", "sublayer.2.norm"),
        ),
        norm=NormForm.from_dict({"weight": "a_2", "bias": "b_2", **SAMPLE}),
    ),
    "hyunwoongko": Layout(  # github.com/hyunwoongko/transformer
        modules=names_of(
            projections=("w_q", "w_k", "w_v", "w_concat"),
            attentions=("attention", "self_attention", "enc_dec_attention"),
            feed_forward=("ffn.linear1", "ffn.linear2"),
            encoder_norms=("norm1", "norm2"),
            decoder_norms=("norm1", "norm2", "norm3"),
        ),
        norm=NormForm(weight="gamma", bias="beta", epsilon=1e-12),
    ),
    "hkproj": Layout(  # github.com/hkproj/pytorch-transformer
        modules=names_of(
            projections=("w_q", "w_k", "w_v", "w_o"),
            attentions=("self_attention_block", "self_attention_block", "cross_attention_block"),
            feed_forward=("feed_forward_block.linear_1", "feed_forward_block.linear_2"),
            encoder_norms=("residual_connections.0.norm", "residual_connections.1.norm"),
            decoder_norms=("residual_connections.0.norm", "residual_connections.1.norm", "residual_connections.2.norm"),
        ),
        norm=NormForm.from_dict({"weight": "alpha", "bias": "bias", **SAMPLE}),
    ),
    "bentrevett": Layout(  # github.com/bentrevett/pytorch-seq2seq, "Attention is All You Need"
        modules=names_of(
            projections=("fc_q", "fc_k", "fc_v", "fc_o"),
            attentions=("self_attention", "self_attention", "encoder_attention"),
            feed_forward=("positionwise_feedforward.fc_1", "positionwise_feedforward.fc_2"),
            encoder_norms=("self_attn_layer_norm", "ff_layer_norm"),
            decoder_norms=("self_attn_layer_norm", "enc_attn_layer_norm", "ff_layer_norm"),
        )
    ),
    "joeynmt": Layout(  # github.com/joeynmt/joeynmt
        modules=names_of(
            projections=("q_layer", "k_layer", "v_layer", "output_layer"),
            attentions=("src_src_att", "trg_trg_att", "src_trg_att"),
            feed_forward=("feed_forward.pwff_layer.0", "feed_forward.pwff_layer.3"),
            encoder_norms=("layer_norm", "feed_forward.layer_norm"),
            decoder_norms=("x_layer_norm", "dec_layer_norm", "feed_forward.layer_norm"),
            last_norm="layer_norm",
        ),
        norm=NormForm(epsilon=1e-6),
    ),
}


@dataclass(frozen=True, kw_only=True)
class SavedName:
    """Where a file has one of our parameters."""

    tensor: str
    third: int | None = None  # of a matrix with queries, keys and values
    pattern: str = ""  # the same name for all layers, with `{i}`


@dataclass(frozen=True, kw_only=True)
class Names:
    """The table [names] of `headlight.toml`."""

    layout: str
    prefix: str
    source_embedding: str
    target_embedding: str
    output: str
    modules: Mapping[str, str]
    norm: NormForm

    def of(self, ours: str) -> SavedName:
        """The name in the file of one of our parameters, such as "encoder.norm.weight"."""
        module, _, part = ours.rpartition(".")
        ends = {
            "encoder.embedding.tokens": self.source_embedding,
            "decoder.embedding.tokens": self.target_embedding,
            "output_projection": self.output,
        }
        if module in ends:
            name = f"{ends[module]}.{part}"
            return SavedName(tensor=name, pattern=name)
        pattern = self.module(re.sub(r"\.layers\.\d+\.", ".layers.{i}.", module))
        if module.endswith("norm"):
            part = self.norm.weight if part == "weight" else self.norm.bias
        third = re.fullmatch(r"(.*)\[([012])\]", pattern)
        pattern = f"{third[1]}_{part}" if third else f"{pattern}.{part}"
        number = re.search(r"\.layers\.(\d+)\.", module)
        return SavedName(
            tensor=pattern.replace("{i}", number[1] if number else ""),
            third=int(third[2]) if third else None,
            pattern=pattern,
        )

    def module(self, ours: str) -> str:
        """Their module with `{i}` for the layer."""
        stack = ours.partition(".")[0]
        known = LAYOUTS[self.layout].modules
        theirs = (
            self.modules.get(ours) or self.modules.get(ours.replace(stack, "{stack}", 1)) or known.get(ours) or ours
        )
        return self.prefix + theirs.replace("{stack}", stack)

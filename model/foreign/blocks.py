"""The layouts of the layers of Hugging Face's `transformers`: which submodule does what.

A few layouts cover many families, because the library's models are written after each other. A layout fits a layer if
the layer has all submodules that it names. `verification.py` checks with numbers that a model computes what its layout
says, so a wrong layout is never used.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from torch import nn
from transformers.pytorch_utils import Conv1D

__all__ = ["Layout", "Norms", "contraction", "layout_of", "mixer", "submodule"]

# The last matrix of a feed-forward network, from its units to its output.
CONTRACTIONS = ("down_proj", "c_proj", "dense_4h_to_h", "fc2", "fc_out", "Wo", "wo", "w2", "lin2", "2", "contract")


Part = TypeVar("Part")
Other = TypeVar("Other")


@dataclass(frozen=True, kw_only=True)
class Norms(Generic[Part]):
    """The norms of a block: their names, their modules or their descriptions. None where it has none."""

    before: Part | None = None  # of what the block reads
    added: Part | None = None  # of its output
    after: Part | None = None  # of the sum

    @property
    def given(self) -> tuple[Part, ...]:
        """The norms that the block has."""
        return tuple(norm for norm in (self.before, self.added, self.after) if norm is not None)

    def map(self, change: Callable[[Part], Other | None]) -> "Norms[Other]":
        """Each norm in another form, such as the module that has a name."""
        before, added, after = (
            None if norm is None else change(norm) for norm in (self.before, self.added, self.after)
        )
        return Norms(before=before, added=added, after=after)


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The blocks of a layer in the order of the sum: attention, cross-attention if there is one, feed-forward."""

    attention: Norms[str]
    cross: Norms[str] | None = None
    feed_forward: Norms[str]
    network: tuple[str, ...]  # the modules of the feed-forward network, one after the other
    parallel: bool = False  # both blocks read the input of the layer
    by_choice: bool = False  # only for models that choose to have their norms after the sums

    @property
    def names(self) -> tuple[str, ...]:
        """The submodules that a layer with this layout has."""
        cross = self.cross.given if self.cross else ()
        return (*self.attention.given, *cross, *self.feed_forward.given, *self.network)


def pre(attention: str, feed_forward: str, *network: str, cross: str = "", parallel: bool = False) -> Layout:
    """Norms of what the blocks read."""
    return Layout(
        attention=Norms(before=attention),
        cross=Norms(before=cross) if cross else None,
        feed_forward=Norms(before=feed_forward),
        network=network,
        parallel=parallel,
    )


def post(attention: str, feed_forward: str, *network: str, cross: str = "", by_choice: bool = False) -> Layout:
    """Norms of the sums."""
    return Layout(
        attention=Norms(after=attention),
        cross=Norms(after=cross) if cross else None,
        feed_forward=Norms(after=feed_forward),
        network=network,
        by_choice=by_choice,
    )


def both(attention: tuple[str | None, str], feed_forward: tuple[str | None, str], *network: str) -> Layout:
    """Norms of what the blocks read and norms of their outputs; None where there is none."""
    return Layout(
        attention=Norms(before=attention[0], added=attention[1]),
        feed_forward=Norms(before=feed_forward[0], added=feed_forward[1]),
        network=network,
    )


BART_NORMS = ("self_attn_layer_norm", "final_layer_norm")
BART_NETWORK = ("fc1", "activation_fn", "fc2")
# Families with the submodules of BART or GPT-2 that have their norms after the sums. Other families have them before.
NORMS_AFTER = ("bart", "bigbird_pegasus", "blenderbot-small", "led", "marian", "mvp", "openai-gpt", "plbart")
# The matrix that mixes the heads, in families that compute their attention in their own way.
MIXERS = (
    "self_attn.out_proj",
    "self_attn.o_proj",
    "self_attn.output",
    "self_attention.dense",
    "attn.out_proj",
    "attn.c_proj",
    "attn.attention.out_proj",
    "attention.dense",
    "attention.output.dense",
    "attention.attn.o",
    "layer.0.LocalSelfAttention.o",
    "layer.0.SelfAttention.o",
)
CROSS_MIXERS = ("encoder_attn.out_proj", "layer.1.EncDecAttention.o")
TUTORIAL_NORMS = ("self_attention_residual.norm", "feed_forward_residual.norm")
BERT_NETWORK = ("intermediate", "output.dense")

# The first layout that fits is used, so a layout with more submodules comes before one with a part of them.
LAYOUTS: tuple[Layout, ...] = (
    # Marian, BART, mBART, M2M100, Pegasus, Blenderbot, OPT, BioGPT
    post(*BART_NORMS, *BART_NETWORK, cross="encoder_attn_layer_norm", by_choice=True),
    post(*BART_NORMS, *BART_NETWORK, by_choice=True),
    pre(*BART_NORMS, *BART_NETWORK, cross="encoder_attn_layer_norm"),
    pre(*BART_NORMS, *BART_NETWORK),
    # NLLB-MoE
    pre("self_attn_layer_norm", "ff_layer_norm", "ffn", cross="cross_attention_layer_norm"),
    pre("self_attn_layer_norm", "ff_layer_norm", "ffn"),
    # T5, Switch Transformers
    *(
        pre("layer.0.layer_norm", "layer.2.layer_norm", f"layer.2.{name}", cross="layer.1.layer_norm")
        for name in ("DenseReluDense", "mlp")
    ),
    *(pre("layer.0.layer_norm", "layer.1.layer_norm", f"layer.1.{name}") for name in ("DenseReluDense", "mlp")),
    # Gemma 2 and 3, AFMoE, GLM-4
    both(
        ("input_layernorm", "post_attention_layernorm"),
        ("pre_feedforward_layernorm", "post_feedforward_layernorm"),
        "mlp",
    ),
    both(("input_layernorm", "post_attention_layernorm"), ("pre_mlp_layernorm", "post_mlp_layernorm"), "mlp"),
    both(("input_layernorm", "post_self_attn_layernorm"), ("post_attention_layernorm", "post_mlp_layernorm"), "mlp"),
    # OLMo 2 and 3, EXAONE 4
    both((None, "post_attention_layernorm"), (None, "post_feedforward_layernorm"), "mlp"),
    # VaultGemma
    pre("input_layernorm", "pre_feedforward_layernorm", "mlp"),
    # Nomic
    post("post_attention_layernorm", "post_mlp_layernorm", "mlp"),
    # BLOOM, MPT: the module of their network also adds the stream
    pre("input_layernorm", "post_attention_layernorm", "mlp.dense_h_to_4h", "mlp.gelu_impl", "mlp.dense_4h_to_h"),
    pre("norm_1", "norm_2", "ffn.up_proj", "ffn.act", "ffn.down_proj"),
    # Llama, Mistral, Qwen, Gemma, Phi-3, OLMo, Granite, StarCoder2, Nemotron, GPT-NeoX; Llama 4; Granite MoE
    *(pre("input_layernorm", "post_attention_layernorm", name) for name in ("mlp", "feed_forward", "block_sparse_moe")),
    # Phi, Cohere, StableLM, Falcon: both blocks read the same normed vector; Falcon with two norms
    pre("input_layernorm", "input_layernorm", "mlp", parallel=True),
    pre("ln_attn", "ln_mlp", "mlp", parallel=True),
    # OpenAI GPT; GPT-2, GPT-BigCode, GPT-Neo; GPT-J, CodeGen; CTRL; Apertus; LFM2; ModernBERT
    post("ln_1", "ln_2", "mlp", by_choice=True),
    pre("ln_1", "ln_2", "mlp"),
    pre("ln_1", "ln_1", "mlp", parallel=True),
    pre("layernorm1", "layernorm2", "ffn"),
    pre("attention_layernorm", "feedforward_layernorm", "mlp"),
    pre("operator_norm", "ffn_norm", "feed_forward"),
    pre("attn_norm", "mlp_norm", "mlp"),
    # Decoders of tutorials, see `decoder_network.py`
    post(*TUTORIAL_NORMS, "feed_forward", by_choice=True),
    pre(*TUTORIAL_NORMS, "feed_forward"),
    # BERT, RoBERTa, XLM-R, CamemBERT, ELECTRA; DistilBERT
    post("attention.output.LayerNorm", "output.LayerNorm", *BERT_NETWORK),
    post("sa_layer_norm", "output_layer_norm", "ffn"),
    # MPNet; MegatronBERT; XLM-R XL; RoBERTa PreLayerNorm; ESM
    post("attention.LayerNorm", "output.LayerNorm", *BERT_NETWORK),
    pre("attention.ln", "ln", *BERT_NETWORK),
    pre("attention.self_attn_layer_norm", "LayerNorm", *BERT_NETWORK),
    pre(
        "attention.LayerNorm",
        "intermediate.LayerNorm",
        "intermediate.dense",
        "intermediate.intermediate_act_fn",
        "output.dense",
    ),
    pre("attention.LayerNorm", "LayerNorm", *BERT_NETWORK),
)


def submodule(module: nn.Module, path: str) -> nn.Module | None:
    """The submodule at a path such as "output.dense", or None."""
    found: object = module
    for name in path.split("."):
        found = getattr(found, "_modules", {}).get(name)
    return found if isinstance(found, nn.Module) else None


def layout_of(layer: nn.Module, family: str) -> Layout | None:
    """The layout of a layer, or None if it is not known.

    Args:
        layer: A layer of the library.
        family: Its `model_type`.
    """
    if "bottleneck" in layer._modules:  # MobileBERT: the blocks read and write a narrower vector than the layer
        return None
    # OPT and GPT-NeoX choose the order of their parts in `config.json`.
    after = family in NORMS_AFTER or getattr(layer, "do_layer_norm_before", True) is False
    fitting = (
        layout
        for layout in LAYOUTS
        if (after or not layout.by_choice) and all(submodule(layer, name) is not None for name in layout.names)
    )
    found = next(fitting, None)
    parallel = getattr(layer, "use_parallel_residual", False) is True
    return replace(found, parallel=True) if found and parallel else found


def mixer(layer: nn.Module, *, cross: bool) -> nn.Module | None:
    """The matrix that mixes the heads of a layer."""
    return next((found for path in (CROSS_MIXERS if cross else MIXERS) if (found := submodule(layer, path))), None)


def contraction(network: Sequence[nn.Module]) -> nn.Module | None:
    """The last matrix of a feed-forward network; None if there are several, as in a mixture of experts."""
    last = network[-1]
    if isinstance(last, nn.Linear | Conv1D):
        return last
    found = (last._modules.get(name) for name in CONTRACTIONS)
    return next((matrix for matrix in found if isinstance(matrix, nn.Linear | Conv1D)), None)

"""The layouts of the layers of Hugging Face's `transformers`: which submodule does what, and where it is in a model.

A few layouts cover many families, because the library's models are written after each other. A layout fits a layer if
the layer has all submodules that it names. `verify` in `stacks.py` checks with numbers that a model computes what its
layout says, so a wrong layout is never used.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import nn
from transformers import PreTrainedModel
from transformers.pytorch_utils import Conv1D

from model.config.kinds import KINDS
from model.config.section import ConfigError
from model.foreign.attention import AttentionHooks
from model.foreign.sizes import TABLES
from model.messages import Message
from model.network.residual_stream import StackName

__all__ = ["BlockModules", "EmbeddingModules", "StackModules", "find_stack", "submodule"]

Norms = tuple[str, str, str]  # of what a block reads, of its output, and of the sum; "" where it has none


@dataclass(frozen=True, kw_only=True)
class Layout:
    """The blocks of a layer in the order of the sum: attention, cross-attention if there is one, feed-forward."""

    attention: Norms
    cross: Norms | None = None
    feed_forward: Norms
    network: tuple[str, ...]  # the modules of the feed-forward network, one after the other
    parallel: bool = False  # both blocks read the input of the layer
    by_choice: bool = False  # only for models that choose to have their norms after the sums

    @property
    def names(self) -> Iterator[str]:
        """The submodules that a layer with this layout has."""
        return filter(None, (*self.attention, *(self.cross or ()), *self.feed_forward, *self.network))


def pre(attention: str, feed_forward: str, *network: str, cross: str = "", parallel: bool = False) -> Layout:
    """Norms of what the blocks read."""
    return Layout(
        attention=(attention, "", ""),
        cross=(cross, "", "") if cross else None,
        feed_forward=(feed_forward, "", ""),
        network=network,
        parallel=parallel,
    )


def post(attention: str, feed_forward: str, *network: str, cross: str = "", by_choice: bool = False) -> Layout:
    """Norms of the sums."""
    return Layout(
        attention=("", "", attention),
        cross=("", "", cross) if cross else None,
        feed_forward=("", "", feed_forward),
        network=network,
        by_choice=by_choice,
    )


def both(attention: tuple[str, str], feed_forward: tuple[str, str], *network: str) -> Layout:
    """Norms of what the blocks read and norms of their outputs; "" where there is none."""
    return Layout(attention=(*attention, ""), feed_forward=(*feed_forward, ""), network=network)


BART_NORMS = ("self_attn_layer_norm", "final_layer_norm")
BART_NETWORK = ("fc1", "activation_fn", "fc2")
# Families with the submodules of BART or GPT-2 that have their norms after the sums. Other families have them before.
NORMS_AFTER = ("bart", "bigbird_pegasus", "blenderbot-small", "led", "marian", "mvp", "openai-gpt", "plbart")
# The last matrix of a feed-forward network, from its units to its output.
CONTRACTIONS = ("down_proj", "c_proj", "dense_4h_to_h", "fc2", "fc_out", "Wo", "wo", "w2", "lin2", "2")
# The matrix that mixes the heads, in families that compute their attention in their own way.
MIXERS = (
    *("self_attn.out_proj", "self_attn.o_proj", "self_attn.output", "self_attention.dense", "attn.out_proj"),
    *("attn.c_proj", "attn.attention.out_proj", "attention.dense", "attention.output.dense", "attention.attn.o"),
    *("layer.0.LocalSelfAttention.o", "layer.0.SelfAttention.o"),
)
CROSS_MIXERS = ("encoder_attn.out_proj", "layer.1.EncDecAttention.o")
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
    both(("", "post_attention_layernorm"), ("", "post_feedforward_layernorm"), "mlp"),
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
LAYER = re.compile(r"(.+?)\.(\d+)\.")  # the start of the name of an attention module: the list of layers, the number
FINAL_NORMS = (
    *("norm", "norm_f", "ln", "ln_f", "final_layer_norm", "final_layernorm", "final_norm", "layer_norm", "layernorm"),
    *("embedding_norm", "emb_layer_norm_after", "LayerNorm"),
)
NARROW = (".embeddings_project", ".embedding_hidden_mapping_in")  # after narrow embeddings (ELECTRA, RemBERT)
EMBEDDING_NORMS = ("LayerNorm", "layer_norm", "norm")  # in a module of their own; BART has them beside its layers


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


def contraction(network: Sequence[nn.Module]) -> nn.Module | None:
    """The last matrix of a feed-forward network; None if there are several, as in a mixture of experts."""
    last = network[-1]
    found = [last, *(last._modules.get(name) for name in CONTRACTIONS)]
    return next((matrix for matrix in found if isinstance(matrix, nn.Linear | Conv1D)), None)


@dataclass(frozen=True, kw_only=True, eq=False)
class BlockModules:
    """The library's modules of one block."""

    name: str  # such as "decoder.layers.3.cross_attention"
    kind: str | None  # the kind of attention; None for a feed-forward network
    layer: nn.Module  # that contains it
    output: nn.Module  # returns what the block adds, before its norm and multiplier
    norms: tuple[nn.Module | None, ...]  # see `Norms`
    multiplier: float  # of what the block adds (Granite)
    attention: nn.Module | None = None  # whose hook points are known
    network: tuple[nn.Module, ...] = ()  # of a feed-forward network
    contract: nn.Module | None = None

    @property
    def place(self) -> str:
        """The start of the names of its hook points."""
        return f"{self.name}_residual"


@dataclass(frozen=True, kw_only=True, eq=False)
class EmbeddingModules:
    """The library's modules between the token ids and the first layer."""

    tokens: nn.Module
    multiplier: float  # of the token vectors
    positions: nn.Module | None  # returns the vectors of the positions
    norm: nn.Module | None  # of the sum
    matrix: nn.Module | None  # from the normed sum to the first layer, where the embeddings are narrower


@dataclass(frozen=True, kw_only=True, eq=False)
class StackModules:
    """The library's modules of the encoder or the decoder."""

    name: StackName
    embedding: EmbeddingModules
    layers: tuple[tuple[BlockModules, ...], ...]
    parallel: tuple[bool, ...]  # of each layer: its blocks read the same stream
    final_norm: nn.Module | None

    @property
    def first(self) -> str:
        """The name of the stream before the first layer."""
        changed = self.embedding.norm is not None or self.embedding.matrix is not None
        return f"{self.name}.embedding.{'normed' if changed else 'sum'}"


def find_stack(model: PreTrainedModel, name: StackName) -> StackModules:
    """The modules of the encoder or the decoder.

    Args:
        model: A model of the library whose attention modules have their hook points.
        name: "encoder" or "decoder".

    Raises:
        ConfigError: the layout of its layers is not known.
    """
    list_name = list_of(model, name)
    modules = model.get_submodule(list_name)
    assert isinstance(modules, nn.ModuleList)
    attention = attention_of(model, name)
    layers, parallel = [], []
    for index, layer in enumerate(modules):
        layout = layout_of(layer, str(model.config.model_type))
        assert layout is not None
        hooks = attention.get((list_name, index), {})
        if any(one.layer != index for one in hooks.values()) or bool(hooks) != bool(attention):
            raise ConfigError(unknown(Message("some layers of {list} have no attention", list=list_name)))
        layers.append(tuple(blocks_of(layer, layout, hooks, name, index)))
        parallel.append(layout.parallel)
    return StackModules(
        name=name,
        embedding=embedding_of(model, name, model.get_submodule(list_name.rpartition(".")[0])),
        layers=tuple(layers),
        parallel=tuple(parallel),
        final_norm=final_norm_of(model, list_name),
    )


def unknown(reason: Message) -> Message:
    return Message("the layout of their layers is not known ({reason})", reason=reason)


def list_of(model: PreTrainedModel, stack: StackName) -> str:
    """The name of the list of layers.

    Raises:
        ConfigError: no list, or more than one, has only layers with a known layout.
    """
    family, several = str(model.config.model_type), model.config.is_encoder_decoder
    found = [
        name
        for name, module in model.named_modules()
        if isinstance(module, nn.ModuleList)
        and (not several or stack in name)
        and len(module)
        and all(layout_of(layer, family) for layer in module)
    ]
    if not found:
        raise ConfigError("Headlight does not know the parts of their layers")
    if len(found) > 1:
        raise ConfigError(unknown(Message("the {stack} has {n} lists of layers", stack=stack, n=len(found))))
    return found[0]


def attention_of(model: PreTrainedModel, stack: StackName) -> dict[tuple[str, int], dict[str, AttentionHooks]]:
    """(name of the list of layers, number of the layer) → kind → its attention. Empty without hook points there."""
    found: dict[tuple[str, int], dict[str, AttentionHooks]] = {}
    for name, module in model.named_modules():
        if isinstance(module, AttentionHooks) and KINDS[module.kind].stack == stack and (match := LAYER.match(name)):
            found.setdefault((match[1], int(match[2])), {})[module.kind] = module
    return found


def multiplier_of(layer: nn.Module) -> float:
    """The factor of what the blocks add (Granite)."""
    return float(getattr(layer, "residual_multiplier", 1.0))


def blocks_of(
    layer: nn.Module, layout: Layout, attention: Mapping[str, AttentionHooks], stack: StackName, index: int
) -> Iterator[BlockModules]:
    """Raises ConfigError if the output of attention is not known."""
    prefix, multiplier = f"{stack}.layers.{index}", multiplier_of(layer)

    def part(path: str) -> nn.Module | None:
        return submodule(layer, path) if path else None

    for kind, norms in ((stack, layout.attention), ("cross", layout.cross)):
        if norms is not None:
            hooks = attention.get(kind)
            whole = next((m for m in layer.modules() if hooks and getattr(m, "hooks", None) is hooks), None)
            yield BlockModules(
                name=f"{prefix}.{KINDS[kind].module}",
                kind=kind,
                layer=layer,
                output=mixer_of(layer, whole, cross=kind == "cross"),
                norms=tuple(map(part, norms)),
                multiplier=multiplier,
                attention=whole,
            )
    network = tuple(module for path in layout.network if (module := part(path)) is not None)
    yield BlockModules(
        name=f"{prefix}.feed_forward",
        kind=None,
        layer=layer,
        output=network[-1],
        norms=tuple(map(part, layout.feed_forward)),
        multiplier=multiplier,
        network=network,
        contract=contraction(network),
    )


def mixer_of(layer: nn.Module, attention: Any, *, cross: bool) -> nn.Module:
    """The module that returns what attention adds: its output projection, or the whole attention (JetMoE).

    Raises:
        ConfigError: it is not known.
    """
    if attention is not None:
        return next(iter(attention.hooks.projection), attention)
    found = (submodule(layer, path) for path in (CROSS_MIXERS if cross else MIXERS))
    if (mixer := next(filter(None, found), None)) is None:
        reason = Message("the attention of {module} has parts that are not known", module=type(layer).__name__)
        raise ConfigError(unknown(reason))
    return mixer


def embedding_of(model: PreTrainedModel, stack: str, parent: nn.Module) -> EmbeddingModules:
    """The modules before the first layer. `parent` contains the layers."""
    owner: Any = model
    if model.config.is_encoder_decoder or type(model).__name__.endswith("EncoderModel"):  # T5EncoderModel
        owner = model.get_encoder() if stack == "encoder" else model.get_decoder()
    tokens = owner.get_input_embeddings() if hasattr(owner, "get_input_embeddings") else owner.embed_tokens  # FSMT
    container = parent_of(model, tokens)
    own = "embeddings" in type(container).__name__.lower()
    norms = EMBEDDING_NORMS if own else ("layernorm_embedding", "word_embeddings_layernorm")  # BART, BLOOM
    norm = first_child(container, norms)
    before = submodule(parent, "project_in") or tokens  # OPT
    if stack == "decoder" and model.config.model_type == "blenderbot-small" and norm is not None:
        before, norm = norm, None  # the token vectors are normed before the positions are added
    if getattr(container, "token_dropout", False):  # ESM scales its token vectors by the number of masked tokens
        before, norm = container, None
    return EmbeddingModules(
        tokens=before,
        multiplier=token_multiplier(model, tokens, parent),
        positions=first_child(container, TABLES),
        norm=norm,
        matrix=next((m for name, m in model.named_modules() if name.endswith(NARROW)), None),
    )


def token_multiplier(model: PreTrainedModel, tokens: nn.Module, parent: nn.Module) -> float:
    """The factor of the token embeddings that their module does not apply itself."""
    if "ScaledWordEmbedding" in type(tokens).__name__:
        return 1.0
    if model.config.model_type == "ctrl" or getattr(model.config, "mup_enabled", False):
        return float(model.config.hidden_size) ** 0.5
    return float(getattr(parent, "embed_scale", 1.0)) * float(getattr(parent, "embedding_multiplier", 1.0))


def parent_of(model: nn.Module, module: nn.Module) -> nn.Module:
    name = next(name for name, found in model.named_modules() if found is module)
    return model.get_submodule(name.rpartition(".")[0])


def final_norm_of(model: nn.Module, list_name: str) -> nn.Module | None:
    """The norm after the last layer: beside the list of layers, or beside the module with this list."""
    parent = list_name.rpartition(".")[0]
    beside = first_child(model.get_submodule(parent), FINAL_NORMS)
    return beside or first_child(model.get_submodule(parent.rpartition(".")[0]), ("LayerNorm",))


def first_child(module: nn.Module, names: Sequence[str]) -> nn.Module | None:
    children: Mapping[str, nn.Module | None] = module._modules
    return next((child for name in names if (child := children.get(name)) is not None), None)

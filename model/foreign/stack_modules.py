"""Find the modules of a model of Hugging Face's `transformers` that make its residual stream."""

import re
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from torch import nn
from transformers import PreTrainedModel

from model.config.kinds import KINDS
from model.config.section import ConfigError
from model.foreign.attention import AttentionHooks
from model.foreign.blocks import Layout, contraction, layout_of, mixer, submodule
from model.foreign.sizes import TABLES
from model.foreign.stream_hooks import BlockModules, EmbeddingModules, StackModules
from model.messages import Message
from model.network.residual_stream import StackName

__all__ = ["find_stack"]

LAYER = re.compile(r"(.+?)\.(\d+)\.")  # the start of the name of an attention module: the list of layers, the number
FINAL_NORMS = (
    "norm",
    "norm_f",
    "ln",
    "ln_f",
    "final_layer_norm",
    "final_layernorm",
    "final_norm",
    "layer_norm",
    "layernorm",
    "embedding_norm",
    "emb_layer_norm_after",
    "LayerNorm",
)
NARROW = (".embeddings_project", ".embedding_hidden_mapping_in")  # after narrow embeddings (ELECTRA, RemBERT)
EMBEDDING_NORMS = ("LayerNorm", "layer_norm", "norm")  # in a module of their own; BART has them beside its layers


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
    blocks, parallel = [], []
    for index, layer in enumerate(modules):
        layout = layout_of(layer, str(model.config.model_type))
        assert layout is not None
        hooks = attention.get((list_name, index), {})
        if any(one.layer != index for one in hooks.values()) or bool(hooks) != bool(attention):
            raise ConfigError(unknown(Message("some layers of {list} have no attention", list=list_name)))
        blocks.append(blocks_of(layer, layout, hooks, name, index))
        parallel.append(layout.parallel)
    return StackModules(
        name=name,
        embedding=embedding_of(model, name, model.get_submodule(list_name.rpartition(".")[0])),
        layers=tuple(modules),
        blocks=tuple(blocks),
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
) -> tuple[BlockModules, ...]:
    prefix, multiplier = f"{stack}.layers.{index}", multiplier_of(layer)
    found = []
    for kind, norms in ((stack, layout.attention), ("cross", layout.cross)):
        if norms is not None:
            output = mixer_of(layer, attention.get(kind), cross=kind == "cross")
            found.append(
                BlockModules(
                    name=f"{prefix}.{KINDS[kind].module}",
                    kind=kind,
                    output=output,
                    norms=norms.map(partial(submodule, layer)),
                    multiplier=multiplier,
                )
            )
    network = tuple(part for path in layout.network if (part := submodule(layer, path)) is not None)
    found.append(
        BlockModules(
            name=f"{prefix}.feed_forward",
            kind=None,
            output=network[-1],
            norms=layout.feed_forward.map(partial(submodule, layer)),
            multiplier=multiplier,
            network=network,
            contract=contraction(network),
        )
    )
    return tuple(found)


def mixer_of(layer: nn.Module, hooks: AttentionHooks | None, *, cross: bool) -> nn.Module:
    """The module that returns what attention adds: its output projection, or the whole attention (JetMoE).

    Raises:
        ConfigError: it is not known.
    """
    if hooks is None:
        found = mixer(layer, cross=cross)
        if found is None:
            raise ConfigError(
                unknown(Message("the attention of {module} has parts that are not known", module=type(layer).__name__))
            )
        return found
    return hooks.projection[0] if hooks.projection else attention_module(layer, hooks)


def attention_module(layer: nn.Module, hooks: AttentionHooks) -> nn.Module:
    return next(module for module in layer.modules() if getattr(module, "hooks", None) is hooks)


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

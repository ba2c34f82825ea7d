"""The description of a model of Hugging Face's `transformers` as a `Stack`."""

from collections.abc import Sequence
from functools import partial

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from model.foreign.attention import AttentionHooks
from model.foreign.norms import describe_matrix, describe_norm
from model.foreign.readout import readout_of
from model.foreign.stream_hooks import BlockModules, EmbeddingModules, StackModules
from model.network.residual_stream import Block, Code, Pooling, Stack

__all__ = ["describe_foreign_stack"]

AttentionCode = dict[tuple[str, int], Code]  # (kind, layer) → the function that computes this attention


def describe_foreign_stack(model: PreTrainedModel, modules: StackModules, *, pooling: Pooling) -> Stack:
    """Describe the encoder or the decoder.

    Args:
        model: A model of the library.
        modules: From `find_stack`. Their hook points are placed.
        pooling: How a classifier combines the positions; "none" for other models.

    Raises:
        ConfigError: a norm or the way to the logits is not known. The message is a part of a sentence.
    """
    name, width = modules.name, int(model.config.hidden_size)
    streams = [modules.first]
    blocks: list[Block] = []
    attention = attention_code(model)
    for index, layer in enumerate(modules.blocks):
        reads = streams[-1]
        for part in layer:
            blocks.append(
                describe_block(part, modules.layers[index], index, reads=reads, width=width, attention=attention)
            )
            reads = reads if modules.parallel[index] else f"{part.place}.stream"
        streams.append(f"{layer[-1].place}.stream")
    writes = name == "decoder" or not model.config.is_encoder_decoder
    embedding = modules.embedding
    narrow = embedding.matrix.weight.size(1) if isinstance(embedding.matrix, nn.Linear) else width
    return Stack(
        name=name,
        token_vectors=f"{name}.embedding.token_vectors",
        embedding=f"{name}.embedding.sum",
        embedding_norm=describe_norm(embedding.norm, narrow),
        embedding_matrix=None if embedding.matrix is None else describe_matrix(embedding.matrix),
        blocks=tuple(blocks),
        streams=tuple(streams),
        final_norm=describe_norm(modules.final_norm, width),
        pooling=pooling,
        readout=readout_of(model) if writes else (),
        embed=partial(embed, embedding) if isinstance(embedding.tokens, nn.Embedding) else None,
    )


def embed(embedding: EmbeddingModules, ids: Tensor) -> Tensor:
    """From token ids (B, T) to token vectors (B, T, D)."""
    vectors: Tensor = embedding.tokens(ids.to(next(embedding.tokens.parameters()).device))
    return (vectors * embedding.multiplier).to(ids.device)


def attention_code(model: PreTrainedModel) -> AttentionCode:
    """(kind, layer) → the function of the library that computes this attention."""
    return {
        (hooks.kind, hooks.layer): (type(module).forward,)
        for module in model.modules()
        if isinstance(hooks := getattr(module, "hooks", None), AttentionHooks)
    }


def code_of(modules: Sequence[nn.Module]) -> Code:
    """What modules of the library compute; without those of PyTorch."""
    own = (type(module) for module in modules if not type(module).__module__.startswith("torch."))
    return tuple(dict.fromkeys(kind.forward for kind in own))


def describe_block(
    part: BlockModules, layer: nn.Module, index: int, *, reads: str, width: int, attention: AttentionCode
) -> Block:
    """Describe a block, with the functions of the library that compute it.

    Args:
        part: The modules of the block.
        layer: The layer that contains it.
        index: Of the layer, counted from 0.
        reads: The hook point of the stream that the block reads.
        width: D.
        attention: From `attention_code`.
    """
    norms = part.norms.map(partial(describe_norm, width=width))
    contract = part.contract
    return Block(
        name=part.name,
        kind=part.kind,
        layer=index,
        reads=reads,
        added=f"{part.place}.added",
        norm_before=norms.before,
        norm_added=norms.added,
        norm_after=norms.after,
        multiplier=part.multiplier,
        feed_forward=partial(run_network, part.network) if part.network else None,
        units="" if contract is None else f"{part.name}.units",
        contract=None if contract is None else describe_matrix(contract),
        code=code_of(part.network) if part.kind is None else attention.get((part.kind, index), ()),
        sum_code=code_of((layer, *part.norms.given)),
    )


@torch.no_grad()
def run_network(network: Sequence[nn.Module], x: Tensor) -> Tensor:
    """The output of a feed-forward network for vectors (…, D), on the device and in the precision of its weights."""
    weight = next(parameter for module in network for parameter in module.parameters())
    out = x.reshape(1, -1, x.size(-1)).to(weight)  # experts read (B, T, D)
    for module in network:
        out = module(out)
        out = out[0] if isinstance(out, tuple | list) else out
    return out.view_as(x).to(x)

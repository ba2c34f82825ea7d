"""Our own encoder and decoder as data: a `Stack`, and its `Rotation`."""

from functools import partial
from typing import TYPE_CHECKING, Literal, Protocol

import torch
from torch import Tensor, nn

from model.network.attention import MultiHeadAttention, attention_weights, mask_scores
from model.network.layers import DecoderLayer, EncoderLayer, Residual
from model.network.positional import (
    RotaryPositions,
)
from model.network.residual_stream import AttentionPooling, Block, Code, Matrix, Norm, Stack, StackName, norm_of
from model.network.rotation import Rotation
from model.network.scores import add_bias, additive_scores, cap_scores, scaled_dot_product_scores

if TYPE_CHECKING:
    from model.network.transformer import Embedding

__all__ = ["describe_stack", "matrix_of", "rotations_of"]


class LayeredStack(Protocol):
    """A module with embeddings, layers and a norm after the last layer."""

    @property
    def embedding(self) -> "Embedding": ...
    @property
    def layers(self) -> nn.ModuleList: ...
    @property
    def norm(self) -> nn.Module: ...


def describe_stack(
    name: StackName,
    stack: LayeredStack,
    *,
    pooling: Literal["none", "mean", "attention"] = "none",
    attention_pooling: AttentionPooling | None = None,
    output: nn.Linear | None = None,
    readout_code: Code = (),
) -> Stack:
    """Describe a stack of our layers.

    Args:
        name: Of the stack.
        stack: The module.
        pooling: How a classifier combines the positions.
        attention_pooling: Its parts, if it is "attention".
        output: From its states to logits.
        readout_code: The functions that compute the logits.
    """
    blocks: list[Block] = []
    streams = [f"{name}.embedding.sum"]
    for index, layer in enumerate(stack.layers):
        assert isinstance(layer, EncoderLayer | DecoderLayer)
        blocks += describe_layer(layer, name, index, reads=streams[-1])
        streams.append(f"{name}.layers.{index}.feed_forward_residual.stream")
    return Stack(
        name=name,
        token_vectors=f"{name}.embedding.token_vectors",
        embedding=f"{name}.embedding.sum",
        embedding_norm=None,
        blocks=tuple(blocks),
        streams=tuple(streams),
        final_norm=norm_of(stack.norm),
        pooling=pooling,
        attention_pooling=attention_pooling,
        readout=() if output is None else (matrix_of(output),),
        embed=stack.embedding.embed,
        embed_scale=stack.embedding.scale,
        embedding_code=stack.embedding.code,
        readout_code=readout_code,
    )


def describe_layer(layer: EncoderLayer | DecoderLayer, stack: str, index: int, *, reads: str) -> list[Block]:
    """The blocks of a layer. The first one reads the stream at the hook point `reads`."""
    prefix = f"{stack}.layers.{index}"
    blocks = []
    for kind, module in ((stack, "self_attention"), ("cross", "cross_attention")):
        if kind == "cross" and not isinstance(layer, DecoderLayer):
            continue
        name = f"{prefix}.{module}"
        residual, attention = layer.get_submodule(f"{module}_residual"), layer.get_submodule(module)
        assert isinstance(residual, Residual)
        assert isinstance(attention, MultiHeadAttention)
        before, after = norms_of(residual)
        blocks.append(
            Block(
                name=name,
                kind=kind,
                layer=index,
                reads=reads,
                added=f"{name}_residual.added",
                norm_before=before,
                norm_after=after,
                query=partial(query_of, attention),
                score_vector=None if attention.score_vector is None else attention.score_vector.detach(),
                code=attention_code(attention),
                sum_code=(Residual.forward,),
            )
        )
        reads = f"{name}_residual.stream"
    before, after = norms_of(layer.feed_forward_residual)
    network = layer.feed_forward
    feed_forward = Block(
        name=f"{prefix}.feed_forward",
        kind=None,
        layer=index,
        reads=reads,
        added=f"{prefix}.feed_forward_residual.added",
        norm_before=before,
        norm_after=after,
        feed_forward=network,
        code=(type(network).forward,),
        sum_code=(Residual.forward,),
        units=f"{prefix}.feed_forward.units",
        contract=matrix_of(network.contract),
    )
    return [*blocks, feed_forward]


def query_of(attention: MultiHeadAttention, x: Tensor, position: int) -> Tensor:
    """The queries (H, K) of what attention reads at one position, (D,), in the precision of `x`."""
    projection = attention.query_projection
    whole = matrix_of(projection)(x.to(projection.weight.device))  # (H·K,)
    return attention.positions.rotate(attention.split_heads(whole[None, None]), offset=position)[0, :, 0]


def attention_code(module: MultiHeadAttention) -> Code:
    """The functions that compute the steps of attention."""
    scores = scaled_dot_product_scores if module.score_vector is None else additive_scores
    cap = () if module.score_cap is None else (cap_scores,)
    bias = () if module.positions.bias(1, 1) is None else (add_bias,)
    return (
        MultiHeadAttention.forward,
        MultiHeadAttention.written_out,
        *(scores, *cap, *bias),
        *(mask_scores, attention_weights),
    )


def norms_of(residual: Residual) -> tuple[Norm | None, Norm | None]:
    """The norm before the sublayer, and the norm after the sum. One of both is None."""
    norm = norm_of(residual.norm)
    return (norm, None) if residual.pre else (None, norm)


def matrix_of(linear: nn.Linear) -> Matrix:
    """The description of a linear layer."""
    return Matrix(weight=linear.weight.detach(), bias=None if linear.bias is None else linear.bias.detach())


def rotations_of(stack: nn.Module) -> list[Rotation]:
    """The rotation of all layers of an encoder or a decoder of ours, in a list; an empty one without rotary positions.

    Args:
        stack: Of a Transformer, of a classifier, or of a recurrent translator.
    """
    attention = {i: getattr(layer, "self_attention", None) for i, layer in enumerate(getattr(stack, "layers", ()))}
    found = {
        index: one.positions
        for index, one in attention.items()
        if isinstance(one, MultiHeadAttention) and isinstance(one.positions, RotaryPositions)
    }
    if not found:
        return []
    table = next(iter(found.values())).table.detach().cpu()  # (N, K)
    sine, cosine = table[1].unflatten(-1, (-1, 2)).unbind(-1)  # (K/2,): the angles of position 1 are the frequencies
    return [Rotation(layers=tuple(found), frequencies=torch.atan2(sine, cosine), pairing="neighbours", first=0)]

"""The description of our own encoder and decoder as a `Stack`."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

from torch import Tensor, nn

from model.network.attention import MultiHeadAttention, attention_weights, mask_scores
from model.network.layers import DecoderLayer, EncoderLayer, Residual
from model.network.residual_stream import AttentionPooling, Block, Code, Matrix, Norm, ReadoutStep, Stack, norm_of
from model.network.scores import add_bias, additive_scores, cap_scores, scaled_dot_product_scores

__all__ = ["describe_stack", "matrix_of"]


def describe_stack(
    name: Literal["encoder", "decoder"],
    layers: nn.ModuleList,
    norm: nn.Module,
    *,
    pooling: Literal["none", "mean", "attention"] = "none",
    attention_pooling: AttentionPooling | None = None,
    readout: Sequence[ReadoutStep] = (),
    embed: Callable[[Tensor], Tensor] | None = None,
    embed_scale: float = 1.0,
    embedding_code: Code = (),
    readout_code: Code = (),
) -> Stack:
    """Describe a stack of our layers.

    Args:
        name: Of the stack.
        layers: Its `EncoderLayer`s or `DecoderLayer`s.
        norm: Of its last stream: a LayerNorm, or an identity.
        pooling: How a classifier combines the positions.
        attention_pooling: Its parts, if it is "attention".
        readout: From its states to logits.
        embed: From token ids to token vectors.
        embed_scale: The factor of the token embeddings in it.
        embedding_code: The functions that compute the sum of the embeddings.
        readout_code: The functions that compute the logits.
    """
    blocks: list[Block] = []
    streams = [f"{name}.embedding.sum"]
    for index, layer in enumerate(layers):
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
        final_norm=norm_of(norm),
        pooling=pooling,
        attention_pooling=attention_pooling,
        readout=tuple(readout),
        embed=embed,
        embed_scale=embed_scale,
        embedding_code=embedding_code,
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

"""The mathematics that all analyses of the residual stream share: a LayerNorm as a linear map, and matrices by head."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from torch import nn

from model.checkpoints.checkpoint import Checkpoint
from model.config.section import ConfigError
from model.network.transformer import Transformer

__all__ = ["FloatArray", "head_matrices", "linear_norm", "output_rows", "require_transformer"]

FloatArray = NDArray[np.float64]


def require_transformer(checkpoint: Checkpoint) -> Transformer:
    """The model of a checkpoint, if it is one of our Transformers, which record their residual stream.

    Raises:
        ConfigError: it is a recurrent network or a model from another library.
    """
    if not isinstance(checkpoint.model, Transformer):
        raise ConfigError(
            f"{checkpoint.name} is not one of Headlight's own Transformers. Only in those can this analysis follow the "
            "vectors through the layers. Choose another checkpoint."
        )
    return checkpoint.model


def linear_norm(norm: nn.Module, x: FloatArray, parts: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Apply a LayerNorm to the parts of its input. With the standard deviation fixed at that of `x`, it is linear.

    Args:
        norm: An `nn.LayerNorm`; any other module changes nothing.
        x: Its input in the model, (…, D).
        parts: Vectors that add up to `x`, (N, …, D).

    Returns:
        The parts after the norm (N, …, D), and its shift (D,), which belongs to no part.
    """
    if not isinstance(norm, nn.LayerNorm):
        return parts, np.zeros(x.shape[-1])
    scale, shift = (p.detach().cpu().double().numpy() for p in (norm.weight, norm.bias))
    deviation = np.sqrt(x.var(axis=-1, keepdims=True) + norm.eps)  # (…, 1)
    centred = parts - parts.mean(axis=-1, keepdims=True)
    return centred / deviation * scale, shift


def head_matrices(model: Transformer, kind: str, layer: int) -> tuple[FloatArray, FloatArray]:
    """The output projection W_O, split by head (H, K, D), and its bias (D,)."""
    mixing = model.mixing(kind, layer)
    matrix = mixing.matrix.cpu().double().numpy()  # (H·K, D)
    heads = model.config.num_heads
    return matrix.reshape(heads, -1, matrix.shape[1]), mixing.bias.cpu().double().numpy()


def output_rows(model: Transformer, ids: Sequence[int] | slice = slice(None)) -> tuple[FloatArray, FloatArray]:
    """Rows of the projection from the last vector to logits, (N, D), and their biases, (N,).

    Only the models of some tutorials have these biases; in all others they are 0.

    Args:
        model: The Transformer.
        ids: The target ids of the rows; by default all.
    """
    weight, bias = model.output_projection.weight[ids], model.output_projection.bias
    rows = weight.detach().cpu().double().numpy()
    return rows, np.zeros(len(rows)) if bias is None else bias[ids].detach().cpu().double().numpy()

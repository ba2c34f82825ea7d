"""Attention for training on a CPU: forward and backward written by hand, with few passes over the weights.

On a CPU, PyTorch's fused kernel has no dropout and is slow in bfloat16. Its separate operators spend most of their time
in softmaxes of short bfloat16 rows. Here matrix products use the working precision, and everything between them is
computed in float32 and in place. The mathematics is that of `MultiHeadAttention.written_out`.
"""

from typing import Any

import torch
from torch import Tensor

from model.network.dropout import dropout_mask
from model.network.scores import attention_scores

__all__ = ["attend_on_cpu"]


class AttendOnCPU(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        mask: Tensor | None,
        rate: float,
        bias: Tensor | None,
    ) -> Tensor:
        queries, keys, values = queries.contiguous(), keys.contiguous(), values.contiguous()
        scaling = queries.size(-1) ** -0.5
        scores = attention_scores(queries, keys, scaling=scaling, bias=bias, precision=torch.float32)  # (B, H, T, S)
        weights = masked_softmax_(scores, mask).to(values.dtype)
        kept = dropout_mask(weights.shape, rate, weights.dtype) if rate else None
        ctx.save_for_backward(queries, keys, values, weights, kept)
        ctx.bias_shape = None if bias is None else bias.shape
        return (weights if kept is None else weights * kept) @ values

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        queries, keys, values, weights, kept = ctx.saved_tensors
        grad = grad.contiguous()
        dropped = weights if kept is None else weights * kept
        grad_values = dropped.transpose(-2, -1) @ grad
        grad_weights = (grad @ values.transpose(-2, -1)).float()  # (B, H, T, S)
        if kept is not None:
            grad_weights.mul_(kept)
        mean = (grad_weights * weights).sum(dim=-1, keepdim=True)  # (B, H, T, 1)
        grad_scores = grad_weights.sub_(mean).mul_(weights)  # (B, H, T, S)
        grad_bias = grad_scores.sum_to_size(ctx.bias_shape) if ctx.needs_input_grad[5] else None
        # The sum may be the same memory.
        scale = grad_scores.mul_ if grad_bias is None else grad_scores.mul
        grad_products = scale(queries.size(-1) ** -0.5).to(grad.dtype)
        return grad_products @ keys, grad_products.transpose(-2, -1) @ queries, grad_values, None, None, grad_bias


def masked_softmax_(scores: Tensor, mask: Tensor | None) -> Tensor:
    """Softmax over the keys that the mask allows, 0 for all others. Overwrites the scores."""
    if mask is None:
        return scores.softmax(dim=-1)
    # Without any key the softmax would be 0/0. Such a query stays unmasked and is multiplied by 0 afterwards.
    sees = mask.any(dim=-1, keepdim=True)  # (B, 1, T, 1)
    bias = torch.zeros(mask.shape).masked_fill_(sees & ~mask, float("-inf"))
    return scores.add_(bias).softmax(dim=-1).mul_(sees.float())


def attend_on_cpu(
    queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, rate: float, bias: Tensor | None = None
) -> Tensor:
    """softmax(QKᵀ/√d_k) with dropout, times V ("Attention Is All You Need", equation 1).

    Args:
        queries: (B, H, T, K).
        keys: (B, H, S, K).
        values: (B, H, S, K).
        mask: Boolean, broadcast over (B, H, T, S), True = may attend. A query without any key gets 0.
        rate: Dropout rate of the weights; 0 for none.
        bias: Added to the scores, broadcast over (B, H, T, S).

    Returns:
        (B, H, T, K).
    """
    result: Tensor = AttendOnCPU.apply(queries, keys, values, mask, rate, bias)
    return result

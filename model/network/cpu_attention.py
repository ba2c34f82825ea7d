"""Attention for training on a CPU: forward and backward by hand, in as few passes over the weights as it takes.

PyTorch's fused kernel does not know dropout on a CPU and is slow in bfloat16; its step-by-step operators spend most of
their time in softmaxes of short bfloat16 rows. Here products are in the short format, everything between them in
float32 and in place. The same mathematics as the written-out path of `model/network/attention.py`.
"""

from typing import Any

import torch
from torch import Tensor

from model.network.dropout import keep_mask, kept_scale

__all__ = ["attend_on_cpu"]


class AttendOnCPU(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, queries: Tensor, keys: Tensor, values: Tensor, bias: Tensor | None, rate: float) -> Tensor:
        queries, keys, values = queries.contiguous(), keys.contiguous(), values.contiguous()
        scores = (queries @ keys.transpose(-2, -1)).float().mul_(queries.size(-1) ** -0.5)  # (B, H, T, S)
        weights = (scores if bias is None else scores.add_(bias)).softmax(dim=-1).to(values.dtype)
        kept = keep_mask(weights.shape, rate, weights.dtype).mul_(kept_scale(rate)) if rate else None
        ctx.save_for_backward(queries, keys, values, weights, kept)
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
        grad_scores = grad_weights.sub_(mean).mul_(weights).mul_(queries.size(-1) ** -0.5).to(grad.dtype)
        return grad_scores @ keys, grad_scores.transpose(-2, -1) @ queries, grad_values, None, None


def attend_on_cpu(queries: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, rate: float) -> Tensor:
    """softmax(QKᵀ/√d_k) with dropout, times V ("Attention Is All You Need", equation 1).

    Args:
        queries: (B, H, T, K).
        keys: (B, H, S, K).
        values: (B, H, S, K).
        mask: Boolean, broadcast over (B, H, T, S), True = may attend.
        rate: Of the dropout of the weights; 0 for none.

    Returns:
        (B, H, T, K).
    """
    bias = None if mask is None else torch.zeros(mask.shape).masked_fill_(~mask, float("-inf"))
    result: Tensor = AttendOnCPU.apply(queries, keys, values, bias, rate)
    return result

"""Projection to the vocabulary and cross-entropy with label smoothing, as one operation.

The (tokens × vocabulary) matrix is the largest of a small Transformer: at 10,000 words it costs more than all layers.
It is never held whole here. A few hundred rows at a time are projected, turned into their own gradient while they are
still in the processor's cache, and given back.
"""

from typing import Any

import torch
from torch import Tensor

__all__ = ["projected_cross_entropy"]

ROWS_ON_CPU, ROWS = 512, 8192  # the first stay in the cache


class ProjectedCrossEntropy(torch.autograd.Function):
    """Computes the gradients on the way forward, where softmax(x) is at hand, and only scales them on the way back."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, targets: Tensor, smoothing: float, dtype: torch.dtype) -> Any:
        learning = any(ctx.needs_input_grad[:2])
        inputs, matrix = states.detach().to(dtype), weight.detach().to(dtype)
        state_grad = torch.empty_like(inputs) if learning else None
        weight_grad = torch.zeros_like(weight, dtype=torch.float32) if learning else None
        loss = torch.zeros((), device=states.device)
        rows = ROWS_ON_CPU if states.device.type == "cpu" else ROWS
        for start in range(0, len(targets), rows):
            part = slice(start, start + rows)
            scores = inputs[part] @ matrix.T  # (N, V)
            part_loss, gradient = cross_entropy_and_gradient(scores.float(), targets[part], smoothing)
            loss += part_loss
            if state_grad is not None and weight_grad is not None:
                gradient = gradient.to(dtype)
                state_grad[part] = gradient @ matrix
                weight_grad += gradient.T @ inputs[part]
        ctx.save_for_backward(state_grad, weight_grad)
        ctx.dtypes = states.dtype, weight.dtype
        return loss

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        state_grad, weight_grad = ctx.saved_tensors
        state_dtype, weight_dtype = ctx.dtypes
        return (state_grad * grad).to(state_dtype), (weight_grad * grad).to(weight_dtype), None, None, None


def cross_entropy_and_gradient(logits: Tensor, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """Sum of the losses of (N, V) logits, and its gradient, written over the logits."""
    largest = logits.amax(dim=-1, keepdim=True)  # (N, 1)
    correct = logits.gather(-1, targets[:, None])  # (N, 1)
    expected = (1 - smoothing) * correct + smoothing * logits.mean(dim=-1, keepdim=True)
    exponentials = logits.sub_(largest).exp_()
    total = exponentials.sum(dim=-1, keepdim=True)
    loss = (total.log() + largest - expected).sum()
    gradient = exponentials.div_(total).sub_(smoothing / logits.size(-1))  # softmax(x) minus the smoothed target
    gradient.scatter_add_(-1, targets[:, None], torch.full_like(correct, smoothing - 1))
    return loss, gradient


def projected_cross_entropy(states: Tensor, weight: Tensor, targets: Tensor, smoothing: float = 0.0) -> Tensor:
    """Sum over tokens of the cross-entropy of `states @ weight.T` with a target mixed with the uniform distribution.

    The mixture is Szegedy et al. 2016, section 7; the value is that of `torch.nn.functional.cross_entropy` with
    `label_smoothing` and `reduction="sum"`. Products follow autocast; all else is computed in float32.

    Args:
        states: Of the decoder, (N, D).
        weight: Of the output projection, (V, D).
        targets: Ids (N,), no padding among them.
        smoothing: Share of the target mass spread evenly over the vocabulary.

    Returns:
        A scalar, in nats, not divided by N.
    """
    device = states.device.type
    dtype = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else states.dtype
    result: Tensor = ProjectedCrossEntropy.apply(states, weight, targets, smoothing, dtype)
    return result

"""Projection to the vocabulary and cross-entropy with label smoothing, as one operation.

The (tokens × vocabulary) matrix is the largest of a small Transformer: at 10,000 words it costs more than all layers.
It is never held whole here. As many rows as a budget of bytes allows are projected at a time, turned into their own
gradient where one is wanted, and given back: on a CPU so few that they may still be in its cache, on other devices so
many that it is kept busy.
"""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from model.network.precision import working_dtype

__all__ = ["projected_cross_entropy"]

BYTES_ON_CPU, BYTES = 20_000_000, 256_000_000  # of float32 scores: 500 and 6,400 rows of 10,000 words
FEWEST_ROWS = 128  # fewer would spend their time in adding up the gradient of the weight


class ProjectedCrossEntropy(torch.autograd.Function):
    """Computes the gradients on the way forward, where softmax(x) is at hand, and only scales them on the way back."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, targets: Tensor, smoothing: float, dtype: torch.dtype) -> Any:
        inputs, matrix = states.detach().to(dtype), weight.detach().to(dtype)
        state_grad = torch.empty_like(inputs)
        weight_grad = torch.zeros_like(weight, dtype=torch.float32)
        loss = torch.zeros((), device=states.device)
        for part in parts(inputs, matrix):
            scores = inputs[part] @ matrix.T  # (N, V)
            part_loss, gradient = cross_entropy_and_gradient(scores.float(), targets[part], smoothing)
            gradient = gradient.to(dtype)
            state_grad[part] = gradient @ matrix
            weight_grad += gradient.T @ inputs[part]
            loss += part_loss
        ctx.save_for_backward(state_grad, weight_grad)
        ctx.dtypes = states.dtype, weight.dtype
        return loss

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        state_grad, weight_grad = ctx.saved_tensors
        state_dtype, weight_dtype = ctx.dtypes
        return (state_grad * grad).to(state_dtype), (weight_grad * grad).to(weight_dtype), None, None, None


def parts(states: Tensor, weight: Tensor) -> Iterator[slice]:
    """Stretches of the (N, D) states, each with as many rows as may be projected at a time."""
    budget = BYTES_ON_CPU if states.device.type == "cpu" else BYTES
    rows = max(FEWEST_ROWS, budget // (4 * len(weight)))
    return (slice(start, start + rows) for start in range(0, len(states), rows))


def cross_entropy(states: Tensor, weight: Tensor, targets: Tensor, smoothing: float, dtype: torch.dtype) -> Tensor:
    """The loss alone, where no gradient is wanted."""
    inputs, matrix = states.to(dtype), weight.to(dtype)
    loss = torch.zeros((), device=states.device)
    for part in parts(inputs, matrix):
        scores = (inputs[part] @ matrix.T).float()  # (N, V)
        loss += F.cross_entropy(scores, targets[part], label_smoothing=smoothing, reduction="sum")
    return loss


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
    dtype = working_dtype(states)
    # Asked here, for inside a Function PyTorch says of a parameter that it needs a gradient, in inference mode too.
    if not (torch.is_grad_enabled() and (states.requires_grad or weight.requires_grad)):
        return cross_entropy(states, weight, targets, smoothing, dtype)
    result: Tensor = ProjectedCrossEntropy.apply(states, weight, targets, smoothing, dtype)
    return result

"""Projection to the vocabulary and cross-entropy with label smoothing, as one operation.

The (tokens × vocabulary) matrix is the largest one in a small Transformer: with 10,000 words it costs more than all
layers. It never exists as a whole here. A chunk of rows is projected and turned into its gradient if one is needed;
then its memory is used again. On a CPU a chunk is small enough for the cache; on other devices it is large enough to
keep them busy.
"""

from collections.abc import Iterator
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from model.network.device import working_dtype

__all__ = ["projected_cross_entropy"]

BYTES_ON_CPU, BYTES = 20_000_000, 256_000_000  # float32 scores of a chunk: 500 and 6,400 rows with 10,000 words
FEWEST_ROWS = 128  # with fewer, adding up the gradient of the weight would take most of the time


class ProjectedCrossEntropy(torch.autograd.Function):
    """Computes the gradients in the forward pass, where softmax(x) is available. The backward pass only scales them."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, targets: Tensor, smoothing: float, dtype: torch.dtype
    ) -> Tensor:
        inputs, matrix = states.detach().to(dtype), weight.detach().to(dtype)
        state_grad = torch.empty_like(inputs)
        weight_grad = torch.zeros_like(weight, dtype=torch.float32)
        loss = torch.zeros((), device=states.device)
        for part in chunks(inputs, matrix):
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


def chunks(states: Tensor, weight: Tensor) -> Iterator[slice]:
    """Chunks of the (N, D) states, each as large as the memory allows."""
    budget = BYTES_ON_CPU if states.device.type == "cpu" else BYTES
    rows = max(FEWEST_ROWS, budget // (4 * len(weight)))
    return (slice(start, start + rows) for start in range(0, len(states), rows))


def cross_entropy(states: Tensor, weight: Tensor, targets: Tensor, smoothing: float, dtype: torch.dtype) -> Tensor:
    """Only the loss, without gradients."""
    inputs, matrix = states.to(dtype), weight.to(dtype)
    loss = torch.zeros((), device=states.device)
    for part in chunks(inputs, matrix):
        scores = (inputs[part] @ matrix.T).float()  # (N, V)
        loss += F.cross_entropy(scores, targets[part], label_smoothing=smoothing, reduction="sum")
    return loss


def cross_entropy_and_gradient(logits: Tensor, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
    """The sum of the losses of (N, V) logits, and its gradient, which overwrites the logits."""
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
    """The cross-entropy of `states @ weight.T` with label smoothing, summed over the tokens.

    Label smoothing mixes the target with the uniform distribution (Szegedy et al. 2016, section 7). The value equals
    `torch.nn.functional.cross_entropy` with `label_smoothing` and `reduction="sum"`. Matrix products follow autocast;
    everything else is computed in float32.

    Args:
        states: States of the decoder, (N, D).
        weight: Weight of the output projection, (V, D).
        targets: Ids (N,) without padding.
        smoothing: The share of the target probability that is spread evenly over the vocabulary.

    Returns:
        A scalar, in nats, not divided by N.
    """
    dtype = working_dtype(states)
    # Checked here: inside a Function, a parameter claims to need a gradient even in inference mode.
    if not (torch.is_grad_enabled() and (states.requires_grad or weight.requires_grad)):
        return cross_entropy(states, weight, targets, smoothing, dtype)
    result: Tensor = ProjectedCrossEntropy.apply(states, weight, targets, smoothing, dtype)
    return result

"""Several Transformers of one architecture as one model: weights n compute row n of a batch.

A small model spends more time in the Python interpreter than in arithmetic. Eight snapshots of a training run, stacked,
need one interpreter step where eight models need eight. Each product becomes a batched product; the rest is unchanged.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.network.attention import MultiHeadAttention
from model.network.distance_bias import BucketedBias
from model.network.positional import LearnedPositions, rows
from model.network.transformer import Transformer

__all__ = ["ModelStack"]

Stack = Callable[[Tensor], Tensor]  # from a parameter (…) to the memory for that of N models, (N, …)


def fixed(tensor: Tensor) -> nn.Parameter:
    return nn.Parameter(tensor, requires_grad=False)


class StackedLinear(nn.Module):
    """N linear layers, one for each batch row."""

    def __init__(self, layer: nn.Linear, stack: Stack) -> None:
        super().__init__()
        self.weight = fixed(stack(layer.weight).mT)  # (N, in, out)
        self.bias = None if layer.bias is None else fixed(stack(layer.bias)[:, None])  # (N, 1, out)

    def forward(self, x: Tensor) -> Tensor:  # (B, T, in) → (B, T, out)
        weight = self.weight[: x.size(0)]
        return x @ weight if self.bias is None else torch.baddbmm(self.bias[: x.size(0)], x, weight)


class StackedNorm(nn.Module):
    """N layer normalizations, one for each batch row."""

    def __init__(self, norm: nn.LayerNorm, stack: Stack) -> None:
        super().__init__()
        self.shape, self.eps = norm.normalized_shape, norm.eps
        self.weight = fixed(stack(norm.weight)[:, None])  # (N, 1, D)
        self.bias = fixed(stack(norm.bias)[:, None])  # (N, 1, D)

    def forward(self, x: Tensor) -> Tensor:  # (B, T, D)
        normed = F.layer_norm(x, self.shape, eps=self.eps)
        return torch.addcmul(self.bias[: x.size(0)], normed, self.weight[: x.size(0)])


class StackedEmbedding(nn.Module):
    """N tables of token vectors, one for each batch row."""

    def __init__(self, table: nn.Embedding, stack: Stack) -> None:
        super().__init__()
        self.weight = fixed(stack(table.weight))  # (N, V, D)

    def forward(self, ids: Tensor) -> Tensor:  # (B, T) → (B, T, D)
        return self.weight[torch.arange(ids.size(0), device=ids.device)[:, None], ids]


class StackedPositions(nn.Module):
    """N tables of learned positions, one for each batch row."""

    def __init__(self, table: LearnedPositions, stack: Stack) -> None:
        super().__init__()
        self.table = fixed(stack(table.embedding).transpose(0, 1))  # (max_length, N, D)

    def forward(self, x: Tensor, *, offset: int = 0) -> Tensor:  # (B, T, D)
        return x + rows(self.table, offset, offset + x.size(1)).transpose(0, 1)[: x.size(0)]


def stacked_form(module: nn.Module, stack: Stack) -> nn.Module | None:
    """N modules as one, or None if a module has no weights of its own that can be stacked."""
    if isinstance(module, nn.Linear):
        return StackedLinear(module, stack)
    if isinstance(module, nn.LayerNorm):
        return StackedNorm(module, stack)
    if isinstance(module, nn.Embedding):
        return StackedEmbedding(module, stack)
    return StackedPositions(module, stack) if isinstance(module, LearnedPositions) else None


def own_parameters(module: nn.Module) -> tuple[str, ...]:
    """The parameters of a module whose code accepts those of N models, (N, …): one for each batch row."""
    if isinstance(module, MultiHeadAttention):
        return tuple(name for name in ("score_vector", "sinks") if getattr(module, name) is not None)
    return ("table",) if isinstance(module, BucketedBias) else ()


@dataclass(frozen=True, kw_only=True)
class ModelStack:
    """Memory for N models as one. A batch of fewer rows uses the first models."""

    model: Transformer  # weights n compute batch row n; decoding, recording and edits work as with any batch
    weights: dict[str, Tensor]  # name of a parameter → its memory, (N, …)

    @classmethod
    def like(cls, model: Transformer, size: int) -> Self:
        """Memory for models that have the configuration of this one.

        Args:
            model: In evaluation mode; it does not change, and its weights are not copied.
            size: N.

        Raises:
            TypeError: a part of the model has weights and no stacked form.
        """
        memory: dict[Tensor, Tensor] = {}

        def stack(weight: Tensor) -> Tensor:
            if weight not in memory:  # tied matrices are stacked once
                matrix = weight.ndim == 2
                whole = weight.new_empty(size, *(weight.mT if matrix else weight).shape)
                memory[weight] = whole.mT if matrix else whole  # column by column, as `ready` leaves them
            return memory[weight]

        kept = {id(tensor): tensor for tensor in (*model.parameters(), *model.buffers())}
        together = copy.deepcopy(model, kept)  # without a copy of the weights
        for name, module in list(model.named_modules(remove_duplicate=False)):
            if (form := stacked_form(module, stack)) is not None:
                together.set_submodule(name, form)
            for part in own_parameters(module):
                setattr(together.get_submodule(name), part, fixed(stack(module.get_parameter(part))))
        if left := [name for name, parameter in model.named_parameters() if parameter not in memory]:
            raise TypeError(f"{left[0]} has no stacked form.")
        return cls(model=together, weights={name: memory[parameter] for name, parameter in model.named_parameters()})

    @torch.no_grad()
    def put(self, row: int, model: Transformer) -> None:
        """Copy the weights of a model into a row."""
        for name, parameter in model.named_parameters():
            self.weights[name][row].copy_(parameter)

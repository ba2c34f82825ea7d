"""Several Transformers of one architecture as one model: weights n compute row n of a batch.

A small model spends more time in the Python interpreter than in arithmetic. Eight snapshots of a training run, stacked,
need one interpreter step where eight models need eight. Each product becomes a batched product; the rest is unchanged.
"""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from model.network.attention import MultiHeadAttention
from model.network.positional import LearnedPositions, rows
from model.network.transformer import Transformer

__all__ = ["stack_models"]

Stack = Callable[[Sequence[Tensor]], Tensor]  # the same parameter of N models, each (…) → (N, …)


def fixed(tensor: Tensor) -> nn.Parameter:
    return nn.Parameter(tensor, requires_grad=False)


class StackedLinear(nn.Module):
    """N linear layers, one for each batch row."""

    def __init__(self, layers: Sequence[nn.Linear], stack: Stack) -> None:
        super().__init__()
        biased = layers[0].bias is not None
        self.weight = fixed(stack([layer.weight for layer in layers]).mT)  # (N, in, out)
        self.bias = fixed(stack([layer.bias for layer in layers])[:, None]) if biased else None  # (N, 1, out)

    def forward(self, x: Tensor) -> Tensor:  # (B, T, in) → (B, T, out)
        weight = self.weight[: x.size(0)]
        return x @ weight if self.bias is None else torch.baddbmm(self.bias[: x.size(0)], x, weight)


class StackedNorm(nn.Module):
    """N layer normalizations, one for each batch row."""

    def __init__(self, norms: Sequence[nn.LayerNorm], stack: Stack) -> None:
        super().__init__()
        self.shape, self.eps = norms[0].normalized_shape, norms[0].eps
        self.weight = fixed(stack([norm.weight for norm in norms])[:, None])  # (N, 1, D)
        self.bias = fixed(stack([norm.bias for norm in norms])[:, None])  # (N, 1, D)

    def forward(self, x: Tensor) -> Tensor:  # (B, T, D)
        normed = F.layer_norm(x, self.shape, eps=self.eps)
        return torch.addcmul(self.bias[: x.size(0)], normed, self.weight[: x.size(0)])


class StackedEmbedding(nn.Module):
    """N tables of token vectors, one for each batch row."""

    def __init__(self, tables: Sequence[nn.Embedding], stack: Stack) -> None:
        super().__init__()
        self.weight = fixed(stack([table.weight for table in tables]))  # (N, V, D)

    def forward(self, ids: Tensor) -> Tensor:  # (B, T) → (B, T, D)
        return self.weight[torch.arange(ids.size(0), device=ids.device)[:, None], ids]


class StackedPositions(nn.Module):
    """N tables of learned positions, one for each batch row."""

    def __init__(self, tables: Sequence[LearnedPositions], stack: Stack) -> None:
        super().__init__()
        self.table = fixed(stack([table.embedding for table in tables]).transpose(0, 1))  # (max_length, N, D)

    def forward(self, x: Tensor, *, offset: int = 0) -> Tensor:  # (B, T, D)
        return x + rows(self.table, offset, offset + x.size(1)).transpose(0, 1)[: x.size(0)]


STACKED: dict[type[nn.Module], Callable[[Any, Stack], nn.Module]] = {
    nn.Linear: StackedLinear,
    nn.LayerNorm: StackedNorm,
    nn.Embedding: StackedEmbedding,
    LearnedPositions: StackedPositions,
}


@torch.no_grad()
def stack_models(models: Sequence[Transformer]) -> Transformer:
    """One model whose batch row n is computed with the weights of model n.

    A batch of fewer rows uses the first models. Decoding, recording and edits work as with any batch.

    Args:
        models: N models in evaluation mode with the same configuration. They do not change; their weights are copied.

    Raises:
        TypeError: a part of the model has weights and no stacked form.
    """
    stacked: dict[Tensor, Tensor] = {}

    def stack(weights: Sequence[Tensor]) -> Tensor:
        if weights[0] not in stacked:  # tied matrices are stacked once
            matrix = weights[0].ndim == 2
            together = torch.stack([weight.mT if matrix else weight for weight in weights])
            stacked[weights[0]] = together.mT if matrix else together  # column by column, as `ready` leaves them
        return stacked[weights[0]]

    kept = {id(tensor): tensor for tensor in (*models[0].parameters(), *models[0].buffers())}
    whole = copy.deepcopy(models[0], kept)  # without a copy of the weights
    for name, module in list(models[0].named_modules(remove_duplicate=False)):
        alike = [model.get_submodule(name) for model in models]
        if type(module) in STACKED:
            whole.set_submodule(name, STACKED[type(module)](alike, stack))
        elif isinstance(module, MultiHeadAttention) and module.score_vector is not None:
            vectors = stack([each.get_parameter("score_vector") for each in alike])
            whole.get_submodule(name).score_vector = fixed(vectors)  # (N, H, K)
    if left := [name for name, parameter in models[0].named_parameters() if parameter not in stacked]:
        raise TypeError(f"{left[0]} has no stacked form.")
    return whole

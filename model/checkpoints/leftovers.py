"""Tensors of a file that no parameter needs: each is proved equal to what we compute, ignored on request, or named."""

import math
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase

import torch
from torch import Tensor

from model.config.model import DecoderSizes, ModelConfig

__all__ = ["is_copy", "matching", "unexplained"]

HIDES = -1e4  # a score with this number added counts for nothing


def matching(names: Collection[str], patterns: Sequence[str]) -> list[str]:
    """The names that fit one of the patterns, such as "criterion.*"."""
    return [name for name in names if any(fnmatchcase(name, pattern) for pattern in patterns)]


def unexplained(
    leftovers: Mapping[str, Tensor], used: Collection[Tensor], config: ModelConfig | DecoderSizes, *, scaled: bool
) -> list[str]:
    """The names of tensors that may be part of what the model computes.

    Args:
        leftovers: Name → tensor.
        used: The embeddings, the output layer and the tables of positions.
        config: The sizes.
        scaled: Token vectors are multiplied by √d_model.
    """
    roots = (*([config.d_model] if scaled else []), config.d_model // config.num_heads)
    return [
        name
        for name, tensor in leftovers.items()
        if not (
            is_causal(tensor)
            or counts_up(tensor)
            or ("scale" in name and is_root(tensor, roots))
            or any(is_copy(tensor, known) for known in used)
        )
    ]


def is_copy(tensor: Tensor, known: Tensor) -> bool:
    """Whether both hold the same numbers, and not one number only, as after an initialization."""
    alike = tensor.shape == known.shape and tensor.dtype == known.dtype and torch.equal(tensor, known)
    return alike and tensor.numel() > 1 and not bool((tensor == tensor.flatten()[0]).all())


def is_causal(tensor: Tensor) -> bool:
    """Whether it is a mask with one value up to the diagonal and another after it.

    Which of 0 and 1 excludes a key does not matter: the other reading leaves the last query without any key.
    """
    length = tensor.size(-1) if tensor.dim() > 1 else 0
    if length < 2 or tensor.numel() != length**2:
        return False
    earlier = torch.ones(length, length, dtype=torch.bool).tril()
    mask = tensor.reshape(length, length).float()
    before, after = mask[earlier], mask[~earlier]
    if (before != before[0]).any() or (after != after[0]).any():
        return False
    values = float(before[0]), float(after[0])
    return values in ((0.0, 1.0), (1.0, 0.0)) or (values[0] == 0.0 and values[1] <= HIDES)


def counts_up(tensor: Tensor) -> bool:
    """Whether it is 0, 1, 2, …: the ids of positions."""
    plain = not tensor.is_floating_point() and tensor.dim() > 0 and tensor.numel() == tensor.size(-1) > 1
    return plain and torch.equal(tensor.flatten().long(), torch.arange(tensor.numel()))


def is_root(tensor: Tensor, numbers: Sequence[int]) -> bool:
    """Whether it is the square root of one of the numbers, by which the model multiplies or divides."""
    return tensor.numel() == 1 and any(
        math.isclose(float(tensor), math.sqrt(number), rel_tol=1e-3) for number in numbers
    )

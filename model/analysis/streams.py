"""The mathematics that all analyses of the residual stream share: the steps of a model as linear maps.

With the deviation of each norm and the slope of each activation fixed at their values in a run, the way from a vector
in the stream to a logit is linear. All computation is in double precision.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.config.kinds import KINDS
from model.inference.run import RecordedArrays
from model.network.protocols import Reads
from model.network.residual_stream import Activation, Block, Matrix, ReadoutStep, Stack

__all__ = [
    "FloatArray",
    "LinearMap",
    "Passage",
    "PoolingMap",
    "head_matrices",
    "linearize",
    "only_rows",
    "pooling_map",
    "recorded",
    "stacks_of",
    "to_double",
    "walk",
]

FloatArray = NDArray[np.float64]
NEAR_ZERO = 1e-6  # where the slope of an activation at 0 is measured


@dataclass(frozen=True, kw_only=True, eq=False)
class LinearMap:
    """A step of a model at the states that passed it: x ↦ W(factor · x / divisor) + constant.

    Parts that add up to these states add up, after the map and with the constant, to the model's value.
    """

    centred: bool = False  # x loses its mean first
    divisor: Tensor | None = None  # (…, 1)
    factor: Tensor | None = None  # (D,) or (…, D)
    weight: Tensor | None = None  # W, (N, D)
    constant: Tensor | None = None  # (N,); it belongs to no part

    def parts(self, parts: Tensor) -> Tensor:
        """Apply the map, without its constant, to parts of the states: (…, D) → (…, N)."""
        if self.centred:
            parts = parts - parts.mean(dim=-1, keepdim=True)
        parts = parts if self.divisor is None else parts / self.divisor
        parts = parts if self.factor is None else parts * self.factor
        return parts if self.weight is None else parts @ self.weight.T

    def undivided(self, parts: Tensor) -> Tensor:
        """As `parts`, without the division, which depends on the position."""
        return replace(self, divisor=None).parts(parts)

    def whole(self, states: Tensor) -> Tensor:
        """Apply the map with its constant: (…, D) → (…, N)."""
        return self.parts(states) if self.constant is None else self.parts(states) + self.constant

    def pulled_back(self, direction: Tensor) -> Tensor:
        """The transposed map: (…, N) → (…, D). ⟨direction, parts(x)⟩ = ⟨pulled_back(direction), x⟩."""
        direction = direction if self.weight is None else direction @ self.weight
        direction = direction if self.factor is None else direction * self.factor
        direction = direction if self.divisor is None else direction / self.divisor
        return direction - direction.mean(dim=-1, keepdim=True) if self.centred else direction

    def constant_along(self, direction: Tensor) -> float:
        """The constant's product with a direction (…, N), summed over all positions."""
        return 0.0 if self.constant is None else float((direction * self.constant).sum())


def linearize(step: ReadoutStep | None, x: Tensor) -> LinearMap:
    """A step as a linear map that is exact at the states `x` (…, D). None is the identity."""
    if step is None:
        return LinearMap()
    if isinstance(step, Matrix):
        return LinearMap(weight=to_double(step.weight), constant=None if step.bias is None else to_double(step.bias))
    if isinstance(step, Activation):
        moved = torch.where(x == 0, torch.full_like(x, NEAR_ZERO), x)
        return LinearMap(factor=step(moved) / moved)
    centred = x - x.mean(dim=-1, keepdim=True) if step.centred else x
    return LinearMap(
        centred=step.centred,
        divisor=step.divisor(centred),
        factor=to_double(step.scale),
        constant=to_double(step.shift),
    )


def only_rows(readout: Sequence[ReadoutStep], ids: Sequence[int]) -> tuple[ReadoutStep, ...]:
    """The readout for a few tokens or classes: of its last matrix, only their rows. A vocabulary may have 250,000."""
    last = max(index for index, step in enumerate(readout) if isinstance(step, Matrix))
    matrix = readout[last]
    assert isinstance(matrix, Matrix)
    rows = list(ids)
    chosen = Matrix(weight=matrix.weight[rows], bias=None if matrix.bias is None else matrix.bias[rows])
    return *readout[:last], chosen, *readout[last + 1 :]


@dataclass(frozen=True, kw_only=True, eq=False)
class PoolingMap:
    """How the states of all positions make one vector, with the weights of the run: Σₛ Σₘ weight · Wₘ · stateₛ."""

    weights: Tensor  # (M, S), one row for each head of the pooling, or a single one
    matrices: Tensor | None  # (M, D, D), applied to the right; None is the identity
    constant: Tensor | None  # (D,)

    def vectors(self, states: Tensor) -> Tensor:
        """What each position gives to the pooled vector, without the constant: (S, D) → (S, D)."""
        if self.matrices is None:
            return self.weights.sum(dim=0)[:, None] * states
        return torch.einsum("ms,sd,mde->se", self.weights, states, self.matrices)

    def whole(self, states: Tensor) -> Tensor:
        """The pooled vector: (S, D) → (D,)."""
        pooled = self.vectors(states).sum(dim=0)
        return pooled if self.constant is None else pooled + self.constant

    def pulled_back(self, direction: Tensor) -> Tensor:
        """The transposed map: (D,) → (S, D)."""
        if self.matrices is None:
            return self.weights.sum(dim=0)[:, None] * direction
        return torch.einsum("ms,mde,e->sd", self.weights, self.matrices, direction)

    def constant_along(self, direction: Tensor) -> float:
        """The constant's product with a direction (D,)."""
        return 0.0 if self.constant is None else float(self.constant @ direction)


def pooling_map(stack: Stack, recording: RecordedArrays, count: int) -> PoolingMap:
    """The pooling of a classifier over its first `count` positions.

    Args:
        stack: Of the classifier; its `pooling` is "first", "mean" or "attention".
        recording: With the weights of the pooling, if it is "attention".
        count: How many positions; 1 is enough for "first".
    """
    if stack.pooling == "first":
        return PoolingMap(weights=torch.eye(1, count, dtype=torch.double), matrices=None, constant=None)
    if stack.pooling == "mean":
        return PoolingMap(weights=torch.full((1, count), 1 / count, dtype=torch.double), matrices=None, constant=None)
    parts = stack.attention_pooling
    assert parts is not None, "a pooling by attention is described"
    weights = recorded(recording, parts.weights)[:, 0]  # (H, S)
    values, output = (linearize(matrix, weights) for matrix in (parts.values, parts.output))
    assert values.weight is not None
    assert output.weight is not None
    by_head = values.weight.view(len(weights), -1, values.weight.size(1))  # (H, K, D)
    mixed = output.weight.view(output.weight.size(0), len(weights), -1)  # (D, H, K)
    bias = torch.zeros(values.weight.size(0), dtype=torch.double) if values.constant is None else values.constant
    return PoolingMap(
        weights=weights, matrices=torch.einsum("hkd,ehk->hde", by_head, mixed), constant=output.whole(bias)
    )


@dataclass(frozen=True, kw_only=True, eq=False)
class Passage:
    """The stream around one block, at some positions P."""

    block: Block
    before: Tensor  # (P, D)
    added: Tensor  # (P, D), as recorded
    norm: LinearMap  # `norm_after`, or the identity
    after: Tensor  # (P, D)


def walk(stack: Stack, recording: RecordedArrays, positions: slice = slice(None)) -> Iterator[Passage]:
    """Follow the stream from the first block to the last. It is the sum of what the blocks added, as recorded."""
    stream = recorded(recording, stack.streams[0])[positions]
    for block in stack.blocks:
        added = recorded(recording, block.added)[positions]
        norm = linearize(block.norm_after, stream + added)
        after = norm.whole(stream + added)
        yield Passage(block=block, before=stream, added=added, norm=norm, after=after)
        stream = after


def stacks_of(model: Reads) -> tuple[Stack, ...]:
    """The stacks of a model: its encoder, its decoder, or both.

    Raises:
        ConfigError: the blocks of the model are not known.
    """
    names = dict.fromkeys(KINDS[kind].stack for kind in model.config.kinds)
    return tuple(model.stack(name) for name in names or ("decoder",))


def recorded(recording: RecordedArrays, name: str) -> Tensor:
    """What passed a hook point, in double precision."""
    return torch.from_numpy(recording.array(name).astype(np.float64))


def head_matrices(model: Reads, kind: str, layer: int, heads: int) -> tuple[Tensor, Tensor]:
    """The output projection W_O, split by head (H, K, D), and its bias (D,)."""
    mixing = model.mixing(kind, layer)
    return to_double(mixing.matrix).unflatten(0, (heads, -1)), to_double(mixing.bias)


def to_double(tensor: Tensor) -> Tensor:
    """A tensor of the model for computing, on the CPU."""
    return tensor.detach().cpu().double()

"""Why one token or class and not another: the difference of two logits as a sum over the parts of the model.

Every head, feed-forward network and embedding adds a vector to the residual stream. With the deviation of each norm
fixed at its value in this run, the way from there to a logit is linear, so the parts add up to the exact difference.
These are direct effects (Elhage et al. 2021, "A Mathematical Framework for Transformer Circuits"): what a part
contributes through a later layer counts for that layer.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from model.analysis.availability import require_attention_steps
from model.analysis.followed import Followed
from model.analysis.streams import (
    FloatArray,
    LinearMap,
    head_matrices,
    linearize,
    only_rows,
    pooling_map,
    recorded,
    walk,
)
from model.inference.run import Outcome, RecordedArrays
from model.network.protocols import Reads
from model.network.residual_stream import Block, Stack
from model.trace import hook_name

__all__ = ["Contributions", "contributions"]

ROUNDING = 1e-4  # of the size of the logits


@dataclass(frozen=True, kw_only=True)
class Contributions:
    """Contributions to the logit of one token or class minus the logit of its rival."""

    word: float  # of the embeddings of the tokens that are read at the position, or at all positions that are pooled
    position: float  # of what is added to them for their positions
    heads: Mapping[str, FloatArray]  # kind of attention → (L, H)
    feed_forward: FloatArray  # (L,)
    biases: float  # of projections, norms and the output; they are the same for every text
    difference: float  # of the model's own two logits
    size: float  # of the two logits: the larger absolute value
    positions: FloatArray | None = None  # (P,), of a classifier: of the last state of each token that is pooled

    @property
    def total(self) -> float:
        """The sum of all contributions. Up to rounding, it equals the difference."""
        parts = (*self.heads.values(), self.feed_forward)
        return self.word + self.position + self.biases + sum(float(part.sum()) for part in parts)

    @property
    def agrees(self) -> bool:
        """Whether the sum equals the difference of the model's own logits, except for rounding."""
        if not (math.isfinite(self.total) or math.isfinite(self.difference)):
            return True
        return abs(self.total - self.difference) <= ROUNDING * max(1.0, self.size)


@torch.inference_mode()
def contributions(text: Followed, position: int, rival: int) -> Contributions:
    """Explain why a model chose one token or class and not another.

    The direction from the rival's logit to the chosen one is followed back through the model. At each block, its
    product with what a part added is the contribution of this part.

    Args:
        text: A run.
        position: Of the token; any number for a classifier.
        rival: The id of another candidate, or the number of the label.

    Raises:
        ConfigError: the model's blocks are not known, it is read-only, or it did not choose this token.
        ValueError: the rival is no candidate.
    """
    model, outcome = text.model, text.result.outcome_at(position)
    require_attention_steps(model)
    if rival not in outcome.logits:
        raise ValueError(f"{rival} is no candidate. The candidates are {[*outcome.logits]}.")
    stack, recording = model.stack(outcome.stack), text.recording
    positions = positions_of(stack, outcome)
    norms, last = [], recorded(recording, stack.streams[0])[positions]
    for passage in walk(stack, recording, positions):
        norms.append(passage.norm)
        last = passage.after
    end = follow_readout(stack, recording, last, outcome, rival)
    direction, biases = end.direction, end.constant
    heads: dict[str, dict[int, FloatArray]] = {}
    feed_forward: dict[int, float] = {}
    for block, norm in zip(reversed(stack.blocks), reversed(norms), strict=True):
        biases += norm.constant_along(direction)
        direction = norm.pulled_back(direction)
        if block.kind is None:
            added = float((recorded(recording, block.added)[positions] * direction).sum())
            feed_forward[block.layer] = feed_forward.get(block.layer, 0.0) + added
        else:
            found, constant = head_contributions(model, recording, block, direction, positions)
            heads.setdefault(block.kind, {})[block.layer] = found
            biases += constant
    word, place, constant = embedding_contributions(stack, recording, direction, positions)
    return Contributions(
        word=word,
        position=place,
        heads={kind: np.stack([layers[i] for i in sorted(layers)]) for kind, layers in heads.items()},
        feed_forward=np.array([feed_forward[i] for i in sorted(feed_forward)]),
        biases=biases + constant,
        difference=outcome.logits[outcome.id] - outcome.logits[rival],
        size=end.size,
        positions=end.positions,
    )


def positions_of(stack: Stack, outcome: Outcome) -> slice:
    """The positions whose states the readout reads."""
    if outcome.position is None:
        return slice(0, 1) if stack.pooling == "first" else slice(None)
    return slice(outcome.position, outcome.position + 1)


@dataclass(frozen=True, kw_only=True, eq=False)
class ReadoutEnd:
    """The way from the last stream to the difference of two logits."""

    direction: Tensor  # (P, D), in the last stream
    constant: float  # the part of the difference that does not depend on the stream
    size: float  # of the two logits: the larger absolute value
    positions: FloatArray | None  # (P,), see `Contributions`


def follow_readout(stack: Stack, recording: RecordedArrays, last: Tensor, outcome: Outcome, rival: int) -> ReadoutEnd:
    """Follow the difference of the two logits back to the last stream (P, D)."""
    norm = linearize(stack.final_norm, last)
    states = norm.whole(last)  # (P, D)
    pooling = None if stack.pooling in ("none", "late") else pooling_map(stack, recording, len(states))
    x = states if pooling is None else pooling.whole(states)[None]  # (1, D); (P, D) where logits are pooled
    maps: list[LinearMap] = []
    for step in only_rows(stack.readout, (outcome.id, rival)):
        maps.append(linearize(step, x))
        x = maps[-1].whole(x)
    direction, constant = torch.tensor([[1.0, -1.0]], dtype=torch.double).repeat(len(x), 1) / len(x), 0.0
    for linear in reversed(maps):
        constant += linear.constant_along(direction)
        direction = linear.pulled_back(direction)  # (1 or P, …), at last (1 or P, D)
    if pooling is not None:
        constant += pooling.constant_along(direction[0])
        direction = pooling.pulled_back(direction[0])  # (P, D)
    by_position = (direction * states).sum(dim=-1).numpy()
    constant += norm.constant_along(direction)
    return ReadoutEnd(
        direction=norm.pulled_back(direction),
        constant=constant,
        size=float(x.mean(dim=0).abs().max()),
        positions=None if outcome.position is not None else by_position,
    )


def head_contributions(
    model: Reads, recording: RecordedArrays, block: Block, direction: Tensor, positions: slice
) -> tuple[FloatArray, float]:
    """The contributions of the heads of one attention block (H,), and of its biases.

    Args:
        model: Of the block.
        recording: With its head outputs.
        block: Of attention.
        direction: In the stream after the sum, (P, D).
        positions: The P positions.
    """
    assert block.kind is not None
    outputs = recorded(recording, hook_name(block.kind, block.layer, "head_outputs"))[:, positions]  # (H, P, K)
    matrices, bias = head_matrices(model, block.kind, block.layer, len(outputs))  # (H, K, D), (D,)
    norm = linearize(block.norm_added, torch.einsum("hpk,hkd->pd", outputs, matrices) + bias)
    direction = direction * block.multiplier
    biases = norm.constant_along(direction)
    direction = norm.pulled_back(direction)
    found = torch.einsum("hpk,hkd,pd->h", outputs, matrices, direction).numpy()
    return found, biases + float((direction * bias).sum())


def embedding_contributions(
    stack: Stack, recording: RecordedArrays, direction: Tensor, positions: slice
) -> tuple[float, float, float]:
    """The contributions of the token vectors, of what is added to them, and of the biases after them."""
    tokens, total = (recorded(recording, name)[positions] for name in (stack.token_vectors, stack.embedding))
    norm = linearize(stack.embedding_norm, total)
    matrix = linearize(stack.embedding_matrix, total)
    constant = matrix.constant_along(direction)
    direction = matrix.pulled_back(direction)
    constant += norm.constant_along(direction)
    direction = norm.pulled_back(direction)
    word, everything = (float((direction * x).sum()) for x in (tokens, total))
    return word, everything - word, constant

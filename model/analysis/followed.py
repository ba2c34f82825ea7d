"""A run that analyses look at: its checkpoint, its result, and what passed the hook points.

An analysis of one run is a function of a `Followed`, for models of every task: `influence(follow(checkpoint, run))`.
The app keeps results and recordings, and asks with `analysis_of(influence, key, run)`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from model.analysis.streams import FloatArray, stacks_of
from model.checkpoints.checkpoint import Loaded
from model.inference.passes import record_again
from model.inference.run import AttentionMaps, RecordedArrays, Result, Run
from model.inference.translate import compute
from model.network.protocols import Reads
from model.network.residual_stream import Stack
from model.trace import IfPresent, hook_name

__all__ = ["Followed", "follow", "largest_difference", "layer_names", "run_names"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Followed:
    """A run of a model over one text. The model does not change."""

    checkpoint: Loaded
    run: Run
    result: Result
    record: Callable[[], RecordedArrays]  # makes the `recording`, at its first use
    record_layer: Callable[[str, int], RecordedArrays]  # (stack, layer) → what passed all hook points of one layer

    @property
    def model(self) -> Reads:
        """The model of the run."""
        return self.checkpoint.model

    @property
    def maps(self) -> AttentionMaps:
        """The attention weights of the run."""
        return self.result.maps

    @cached_property
    def recording(self) -> RecordedArrays:
        """What passed the hook points of `run_names`.

        Raises:
            ConfigError: the blocks of the model are not known.
        """
        return self.record()

    def in_layer(self, stack: str, layer: int) -> "Followed":
        """The same run with a recording of `layer_names`."""
        return replace(self, record=lambda: self.record_layer(stack, layer))

    def ids(self, stack: str) -> Sequence[int]:
        """The token ids that a stack read."""
        return [token.id for token in (self.result.source if stack == "encoder" else self.result.read)]

    def keys(self, kind: str) -> Sequence[str]:
        """The tokens that a kind of attention attends to."""
        return [token.label for token in self.result.tokens_of(kind)[1]]

    def at(self, name: str, position: int) -> FloatArray:
        """What passed a hook point at one position, (…, D), in double precision.

        Raises:
            KeyError: the hook point was not recorded.
        """
        return self.recording.array(name)[..., position, :].astype(np.float64)

    def difference(self, name: str, position: int, ours: FloatArray) -> float:
        """The largest difference of a computed vector from the recorded one; 0 where no hook point records it."""
        try:
            return largest_difference(ours, self.at(name, position))
        except KeyError:
            return 0.0


def follow(checkpoint: Loaded, run: Run) -> Followed:
    """Run a model. What passed its hook points is recorded in a second pass, if an analysis asks for it."""
    model, result = checkpoint.model, compute(checkpoint, run)

    def record(names: Sequence[str]) -> RecordedArrays:
        return record_again(model, result, names, edits=run.changes.edits()).arrays()

    return Followed(
        checkpoint=checkpoint,
        run=run,
        result=result,
        record=lambda: record(run_names(model)),
        record_layer=lambda stack, layer: record(layer_names(model.stack(stack), layer)),
    )


def run_names(model: Reads) -> tuple[str, ...]:
    """The hook points that the analyses of the whole stream read.

    Raises:
        ConfigError: the blocks of the model are not known.
    """
    names: list[str] = []
    for stack in stacks_of(model):
        names += [stack.token_vectors, stack.embedding, *stack.streams, *(block.added for block in stack.blocks)]
        names += [] if stack.attention_pooling is None else [stack.attention_pooling.weights]
        layers = [(block.kind, block.layer) for block in stack.blocks if block.kind is not None]
        stages = product(layers, ("values", "head_outputs"))
        names += [IfPresent(hook_name(*layer, stage)) for layer, stage in stages]
    return tuple(dict.fromkeys(names))


def layer_names(stack: Stack, layer: int) -> tuple[str, ...]:
    """The hook points of one layer, of the streams, and of what comes before and after all layers, as patterns."""
    names = [stack.token_vectors, stack.embedding, *stack.streams, f"{stack.name}.states"]
    if stack.attention_pooling is not None:
        names.append(stack.attention_pooling.weights)
    for block in stack.blocks_of(layer):
        names += [block.reads, block.added, IfPresent(f"{block.added.removesuffix('added')}normed")]
        names += [] if block.kind is None else [hook_name(block.kind, layer, "*")]
        names += [block.units] if block.units else []
    return tuple(dict.fromkeys(names))


def largest_difference(ours: NDArray[np.floating], models: NDArray[np.floating]) -> float:
    """The largest absolute difference of two arrays. Two numbers that are not finite do not differ."""
    same = (ours == models) | ~(np.isfinite(ours) | np.isfinite(models))
    return float(np.abs(np.where(same, 0.0, ours - models)).max())

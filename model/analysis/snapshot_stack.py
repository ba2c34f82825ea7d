"""All snapshots of a training run at once, as one stacked model; see `model/network/stacked.py`.

The results are those of `learning.py`, which runs one snapshot after the other.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.learning import EXTRA_TOKENS, SnapshotResult, UnreadableSnapshot
from model.checkpoints.checkpoint import Checkpoint
from model.config.model import ModelConfig
from model.decoding.decoder_state import DecoderState
from model.files import CheckpointError, load_weights
from model.inference.padding import padded_for
from model.inference.searching import require_writing, search_input
from model.inference.translation import AttentionMaps, Translation
from model.network.cache import DecoderCache
from model.network.stacked import ModelStack
from model.network.transformer import Transformer
from model.text.vocab import PAD_ID
from model.trace import IfPresent, Trace, hook_name, tracing

__all__ = ["SnapshotStack", "can_stack", "open_stack", "run_snapshots"]

LOWEST = math.log(1e-30)  # a lower log-probability counts as this one, as in `Translation.log_prob`


@dataclass(frozen=True, kw_only=True)
class SnapshotStack:
    """N snapshots as one checkpoint."""

    checkpoint: Checkpoint  # the weights of snapshot n compute batch row n of its model
    size: int  # N, without the snapshots that cannot be loaded
    unreadable: Mapping[int, UnreadableSnapshot] = field(default_factory=dict)  # by their places in the given list

    def with_unreadable(self, results: Sequence[SnapshotResult]) -> list[SnapshotResult | UnreadableSnapshot]:
        """The results of `run_snapshots`, and between them the snapshots that cannot be loaded."""
        found = iter(results)
        places = range(self.size + len(self.unreadable))
        return [self.unreadable[place] if place in self.unreadable else next(found) for place in places]


def can_stack(checkpoint: Checkpoint, weights: Sequence[Path]) -> bool:
    """Whether these snapshots of a model can run as one batch: files of weights for a Transformer of ours."""
    return type(checkpoint.model) is Transformer and not any(path.is_dir() for path in weights)


def open_stack(checkpoint: Checkpoint, weights: Sequence[Path]) -> SnapshotStack:
    """Load snapshots that `can_stack`, one file after the other into the memory of all.

    Args:
        checkpoint: The trained model.
        weights: One file for each snapshot.
    """
    sizes = checkpoint.config.model
    assert isinstance(sizes, ModelConfig)
    loaded = Transformer(sizes, pad_id=PAD_ID).eval()
    stack, size = ModelStack.like(loaded, len(weights)), 0
    unreadable: dict[int, UnreadableSnapshot] = {}
    for place, path in enumerate(weights):
        try:
            load_weights(path, loaded)
        except CheckpointError as error:
            unreadable[place] = UnreadableSnapshot(message=str(error))
        else:
            stack.put(size, loaded)
            size += 1
    return SnapshotStack(checkpoint=replace(checkpoint, model=stack.model), size=size, unreadable=unreadable)


@torch.inference_mode()
def run_snapshots(
    stack: SnapshotStack, text: str, trained: Translation, *, pause: Callable[[], object] = lambda: None
) -> list[SnapshotResult]:
    """What `run_snapshot` returns for each snapshot that was loaded: one forced pass for all, and one greedy search.

    Args:
        stack: From `open_stack`; never changed.
        text: The source.
        trained: The trained model's own translation of it.
        pause: Called before each token that the snapshots write.
    """
    if not stack.size:
        return []
    checkpoint = stack.checkpoint
    model = require_writing(checkpoint)
    start = search_input(model, checkpoint.tokenizers, text, trained.as_forced)
    source = padded_for(model, [start.source] * stack.size)
    with tracing(record=(IfPresent("*.weights"),)) as trace:
        state = DecoderState(model, source, specials=start.specials, forced=start.forced)
    log_probs = state.ahead  # (N, T, V)
    forced = torch.tensor(list(start.forced.values()), device=log_probs.device)  # (T,)
    losses = log_probs[:, torch.arange(len(forced)), forced].clamp(min=LOWEST).neg().mean(dim=-1).tolist()
    own = own_translations(state, forced, pause)
    decode = checkpoint.tokenizers.target.decode
    return [
        SnapshotResult(
            text=decode(own[row][0]) if row in own else trained.text,
            finished=own[row][1] if row in own else trained.finished,
            maps=maps_of(trace, stack, row),
            loss=losses[row],
        )
        for row in range(stack.size)
    ]


def own_translations(
    state: DecoderState, forced: Tensor, pause: Callable[[], object]
) -> dict[int, tuple[list[int], bool]]:
    """Greedy search by each snapshot that would not write the forced tokens.

    The pass over the forced tokens has computed each row up to its first own choice. From there on each step computes
    the rows up to the last one that still writes.

    Args:
        state: It has read the forced tokens ahead and written nothing.
        forced: The translation of the trained model, (T,).
        pause: Called before each token.

    Returns:
        Row → the ids that it writes, and whether it ended by itself.
    """
    prefix: list[int] = forced.tolist()
    choices = best(state, state.ahead)  # (N, T)
    agreed = (choices == forced).cumprod(dim=-1).sum(dim=-1).tolist()
    differing = [(row, position) for row, position in enumerate(agreed) if position < len(prefix)]
    written = {row: [*prefix[:position], int(choices[row, position])] for row, position in differing}
    limit = min(len(prefix) + EXTRA_TOKENS, state.model.config.max_length)
    for position in range(min(agreed) + 1, limit):  # of the next token
        writing = [row for row, ids in written.items() if len(ids) == position and ids[-1] not in state.end_ids]
        if writing:
            pause()
            newest = [written.get(row, prefix)[:position][-1] for row in range(writing[-1] + 1)]
            chosen = best(state, read(state, newest, position)).tolist()
            for row in writing:
                written[row].append(chosen[row])
    return {row: without_end(ids, state.end_ids) for row, ids in written.items()}


def read(state: DecoderState, tokens: Sequence[int], position: int) -> Tensor:
    """The logits at a position, (R, V), after the model has read the token before it in each of the first R rows."""
    assert isinstance(state.cache, DecoderCache)
    state.cache.rewind(position)
    ids = torch.tensor(tokens, device=state.memory.device)[:, None]  # (R, 1)
    mask = None if state.mask is None else state.mask[: len(tokens)]
    return state.model.decode(ids, state.memory, mask, cache=state.cache)[:, 0]


def best(state: DecoderState, scores: Tensor) -> Tensor:
    """What greedy search chooses by scores (…, V), which may be logits: token ids (…)."""
    return scores.index_fill(-1, state.banned, float("-inf")).argmax(dim=-1)


def without_end(ids: list[int], end_ids: set[int]) -> tuple[list[int], bool]:
    """The ids without an end token, and whether they had one."""
    finished = ids[-1] in end_ids
    return (ids[:-1] if finished else ids), finished


def maps_of(trace: Trace, stack: SnapshotStack, row: int) -> AttentionMaps:
    """The maps of one snapshot, kind → (L, H, queries, keys)."""
    sizes = stack.checkpoint.model.config

    def layers(kind: str) -> list[NDArray[np.float32]]:
        names = [hook_name(kind, layer, "weights") for layer in range(sizes.num_layers(kind))]
        return [trace.passes(name)[0][row].numpy() for name in names]

    return {kind: np.stack(layers(kind)) for kind in sizes.kinds}

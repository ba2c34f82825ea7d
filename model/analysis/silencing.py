"""Silence each head in turn: how the log-probability of a translation changes, and which word changes first.

The translation is the model's own, read token by token (teacher forcing). One pass measures many heads: each row of a
batch runs without another head. Up to the first position where another token becomes the most probable, greedy search
without the head writes the same tokens. So the same pass also shows where the translation would change.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.importance import all_heads
from model.checkpoints.checkpoint import Checkpoint
from model.inference.padding import padded_for
from model.inference.searching import require_writing
from model.inference.translation import Translation
from model.interventions import Head
from model.trace import Edit, hook_name, tracing

__all__ = ["SilencingEffects", "silence_each_head"]

FloatArray = NDArray[np.float32]
MAX_TOKENS = 2_048  # in one batch; larger ones are no faster and take more memory
MAX_LOG_PROBS = 1 << 24  # in one batch, 64 MB: some vocabularies have 250,000 tokens


@dataclass(frozen=True, kw_only=True)
class SilencingEffects:
    """The effect of silencing one head at a time on a translation."""

    changes: Mapping[str, FloatArray]  # kind → (L, H), change of the log-probability in nats; below 0, it falls
    positions: Mapping[str, NDArray[np.int64]]  # kind → (L, H), position of the first token that changes; -1: none


@torch.inference_mode()
def silence_each_head(
    checkpoint: Checkpoint,
    translation: Translation,
    *,
    report: Callable[[int, int], object] = lambda done, heads: None,
) -> SilencingEffects:
    """Silence one head of a model at a time.

    Args:
        checkpoint: The checkpoint that wrote the translation; never changed.
        translation: Written by greedy search with the unchanged model. The tokens of a prompt do not count.
        report: Called before each batch with the number of heads done and of all heads. An exception ends the work.

    Raises:
        ConfigError: the model writes nothing.
    """
    model = require_writing(checkpoint)
    heads = all_heads(model)
    source = padded_for(model, [[token.id for token in translation.source or translation.read[:1]]])
    read = padded_for(model, [[token.id for token in translation.read]])
    first = translation.prompt_length or int(translation.first_token_fixed)
    written = torch.tensor([token.id for token in translation.written[first:]], device=read.device)  # (T,)
    banned = torch.tensor(checkpoint.tokenizers.specials.banned, dtype=torch.long, device=read.device)

    def log_probs(memory: Sequence[Tensor], rows: int) -> Tensor:  # (B, T, V)
        vectors, mask = (part.expand(rows, *part.shape[1:]) for part in memory)
        return model.decode(read.expand(rows, -1), vectors, mask, first=first).float().log_softmax(dim=-1)

    def total(log_probs: Tensor) -> Tensor:  # (B, T, V) → (B,)
        return log_probs.gather(-1, written.expand(len(log_probs), -1)[..., None]).sum(dim=(1, 2))

    memory = model.encode(source)
    before = total(log_probs(memory, 1))
    effects: dict[Head, tuple[float, int]] = {}
    rows = rows_per_batch(source.size(1), read.size(1), model.config.target_vocab_size)
    for batch in batches(heads, rows):
        report(len(effects), len(heads))
        with tracing(record=(), edits=silence_one_per_row(batch)):
            # Heads of the decoder do not change the memory, so it is computed once.
            own_memory = model.encode(source.expand(len(batch), -1)) if batch[0].kind == "encoder" else memory
            silenced = log_probs(own_memory, len(batch))
        differs = silenced.index_fill(-1, banned, float("-inf")).argmax(dim=-1) != written  # (B, T)
        positions = torch.where(differs.any(dim=1), differs.int().argmax(dim=1) + first, -1)
        changes = total(silenced) - before
        effects |= dict(zip(batch, zip(changes.tolist(), positions.tolist(), strict=True), strict=True))
    size = (-1, model.config.num_heads)
    by_kind = {kind: [effects[head] for head in heads if head.kind == kind] for kind in model.config.kinds}
    return SilencingEffects(
        changes={
            kind: np.array([change for change, _ in pairs], dtype=np.float32).reshape(size)
            for kind, pairs in by_kind.items()
        },
        positions={
            kind: np.array([position for _, position in pairs], dtype=np.int64).reshape(size)
            for kind, pairs in by_kind.items()
        },
    )


def rows_per_batch(source_length: int, target_length: int, vocab_size: int) -> int:
    """How many rows fit into one batch, at least one."""
    tokens = MAX_TOKENS // (source_length + target_length)
    return max(1, min(tokens, MAX_LOG_PROBS // (target_length * vocab_size)))


def batches(heads: Sequence[Head], size: int) -> list[list[Head]]:
    """Batches of at most `size` heads. Heads of the encoder never share a batch with others."""
    encoder = [head for head in heads if head.kind == "encoder"]
    decoder = [head for head in heads if head.kind != "encoder"]
    return [part[start : start + size] for part in (encoder, decoder) for start in range(0, len(part), size)]


def silence_one_per_row(heads: Sequence[Head]) -> dict[str, Edit]:
    """Edits for a batch with one row per head: row i runs without head i."""
    cells: dict[str, list[tuple[int, int]]] = {}
    for row, head in enumerate(heads):
        cells.setdefault(hook_name(head.kind, head.layer, "weights"), []).append((row, head.head))
    return {name: silence_cells(pairs) for name, pairs in cells.items()}


def silence_cells(cells: Sequence[tuple[int, int]]) -> Edit:
    """An edit for `*.weights` that silences one head in some rows, given as (row, head) pairs."""
    rows, heads = (list(index) for index in zip(*cells, strict=True))

    def edit(weights: Tensor) -> Tensor:  # (B, H, T, S)
        silenced = weights.clone()
        silenced[rows, heads] = 0.0
        return silenced

    return edit

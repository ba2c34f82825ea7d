"""What each head does for one translation: how its log-probability changes, and which word changes, without that head.

The translation is the model's own, token by token (teacher forcing). Many heads are measured in one pass: each row of a
batch runs without another head. Up to the first place where another token becomes the likeliest, greedy search without
the head writes the same; so the same pass also says whether it writes something else.
"""

from collections.abc import Mapping, Sequence
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
MOST_TOKENS = 2_048  # in one batch; larger ones are no faster and take more memory
MOST_NUMBERS = 1 << 24  # of the log-probabilities of a batch, 64 MB: some vocabularies have 250,000 tokens


@dataclass(frozen=True, kw_only=True)
class SilencingEffects:
    """What silencing each head alone does to a translation."""

    changes: Mapping[str, FloatArray]  # kind → (L, H), nats by which its log-probability rises; below 0, it falls
    places: Mapping[str, NDArray[np.int64]]  # kind → (L, H), where the first other token is written; -1: nowhere


@torch.inference_mode()
def silence_each_head(checkpoint: Checkpoint, translation: Translation) -> SilencingEffects:
    """Silence each head of a model alone.

    Args:
        checkpoint: Of the translation; never changed.
        translation: What greedy search wrote with the unchanged model. Tokens that it was given do not count.

    Raises:
        ConfigError: the model writes nothing.
    """
    require_writing(checkpoint)
    model, heads = checkpoint.model, all_heads(checkpoint.model)
    source = padded_for(model, [[token.id for token in translation.source or translation.read[:1]]])
    read = padded_for(model, [[token.id for token in translation.read]])
    first = translation.prompt_length or int(translation.first_token_fixed)
    written = torch.tensor([token.id for token in translation.written[first:]], device=read.device)  # (T,)
    banned = torch.tensor(checkpoint.tokenizers.specials.banned, dtype=torch.long, device=read.device)

    def log_probs(memory: Sequence[Tensor], rows: int) -> Tensor:  # (B, T, V)
        vectors, mask = (part.expand(rows, *part.shape[1:]) for part in memory)
        states = model.decode(read.expand(rows, -1), vectors, mask)[:, first:]
        return model.project(states).float().log_softmax(dim=-1)

    def score(found: Tensor) -> Tensor:  # (B,)
        return found.gather(-1, written.expand(len(found), -1)[..., None]).sum(dim=(1, 2))

    memory = model.encode(source)
    before = score(log_probs(memory, 1))
    effects: dict[Head, tuple[float, int]] = {}
    rows = rows_at_once(source.size(1), read.size(1), model.config.target_vocab_size)
    for batch in batches(heads, rows):
        with tracing(record=(), edits=silence_one_a_row(batch)):
            # Heads of the decoder do not change the memory, so it is computed once.
            own = model.encode(source.expand(len(batch), -1)) if batch[0].kind == "encoder" else memory
            found = log_probs(own, len(batch))
        other = found.index_fill(-1, banned, float("-inf")).argmax(dim=-1) != written  # (B, T)
        places = torch.where(other.any(dim=1), other.int().argmax(dim=1) + first, -1)
        changes = score(found) - before
        effects |= dict(zip(batch, zip(changes.tolist(), places.tolist(), strict=True), strict=True))
    kinds = {kind: [effects[head] for head in heads if head.kind == kind] for kind in model.config.kinds}
    size = (-1, model.config.num_heads)
    return SilencingEffects(
        changes={kind: np.array([c for c, _ in of], dtype=np.float32).reshape(size) for kind, of in kinds.items()},
        places={kind: np.array([p for _, p in of], dtype=np.int64).reshape(size) for kind, of in kinds.items()},
    )


def rows_at_once(source: int, read: int, vocabulary: int) -> int:
    """How many rows of so many tokens a batch may have, at least one."""
    return max(1, min(MOST_TOKENS // (source + read), MOST_NUMBERS // (read * vocabulary)))


def batches(heads: Sequence[Head], size: int) -> list[list[Head]]:
    """Up to `size` heads each, those of the encoder apart from the others."""
    parts = ([head for head in heads if (head.kind == "encoder") is of_encoder] for of_encoder in (True, False))
    return [part[start : start + size] for part in parts for start in range(0, len(part), size)]


def silence_one_a_row(heads: Sequence[Head]) -> dict[str, Edit]:
    """Edits for a batch of as many rows as heads: row i runs without head i."""
    cells: dict[str, list[tuple[int, int]]] = {}
    for row, head in enumerate(heads):
        cells.setdefault(hook_name(head.kind, head.layer, "weights"), []).append((row, head.head))
    return {name: silence_cells(places) for name, places in cells.items()}


def silence_cells(cells: Sequence[tuple[int, int]]) -> Edit:
    """An edit for `*.weights` that silences one head in each of some rows: pairs of (row, head)."""
    rows, heads = (list(index) for index in zip(*cells, strict=True))

    def edit(weights: Tensor) -> Tensor:  # (B, H, T, S)
        silenced = weights.clone()
        silenced[rows, heads] = 0.0
        return silenced

    return edit

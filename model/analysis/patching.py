"""Patch a head: give it its output for another sentence, the donor, and see what changes (activation patching).

Both translations are equal up to some position. There each has another word. The model reads the shared prefix while
one head at a time is patched from the donor's run, and the logits of the two words are compared. The method is causal
mediation analysis (Vig et al. 2020, section 3). Zhang and Nanda (2024, "Towards Best Practices of Activation Patching
in Language Models") advise the difference of two logits as its measure.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.availability import require_attention_steps, require_translation
from model.analysis.importance import all_heads
from model.checkpoints.checkpoint import Checkpoint
from model.inference.padding import padded_for
from model.inference.translate import record_translation, translate
from model.inference.translation import Translation
from model.interventions import Head
from model.network.protocols import Writes
from model.trace import Edit, hook_name, tracing

__all__ = ["PatchingEffects", "first_difference", "patch_every_head", "patch_head"]

FloatArray = NDArray[np.float32]
BATCH_ROWS = 64  # patched runs in one pass
Patch = tuple[Head, int | None]  # a head, and the position where it is patched; None: at every position


@dataclass(frozen=True, kw_only=True)
class PatchingEffects:
    """How far each patched head moves a run towards the donor's word: 0 = not at all, 1 = as far as in its own run."""

    position: int  # of the first word that differs, counted from 0
    heads: Mapping[str, FloatArray]  # kind → (L, H), patched at every position
    positions: Mapping[str, FloatArray]  # kind → (L, H, P), patched at one position


def first_difference(one: Translation, other: Translation) -> int | None:
    """The first position with different tokens; None where one translation equals the other or begins it."""
    pairs = zip(one.written, other.written, strict=False)
    return next((position for position, (a, b) in enumerate(pairs) if a.id != b.id), None)


@torch.inference_mode()
def patch_every_head(
    checkpoint: Checkpoint, donor: str, text: str, *, report: Callable[[int, int], object] = lambda done, runs: None
) -> PatchingEffects | None:
    """Patch each head of the run over one text with its output in the run over another.

    Heads of the encoder can be patched only between texts with the same number of tokens; otherwise they are NaN.

    Args:
        checkpoint: A translator; never changed.
        donor: The text whose run gives the head outputs.
        text: The text whose run is patched.
        report: Called before each batch with the number of runs done and of all runs. An exception ends the work.

    Returns:
        The effects; None where both translations are equal.

    Raises:
        ConfigError: the model does not translate, or it is read-only.
    """
    model = require_translation(checkpoint)
    require_attention_steps(model)
    theirs, ours = translate(checkpoint, donor), translate(checkpoint, text)
    position = first_difference(theirs, ours)
    if position is None:
        return None
    comparison = Comparison(model, theirs, ours, position)
    patches = comparison.patches()
    effects: dict[Patch, float] = {}
    for start in range(0, len(patches), BATCH_ROWS):
        report(start, len(patches))
        batch = patches[start : start + BATCH_ROWS]
        effects |= dict(zip(batch, comparison.effects(batch), strict=True))
    config = model.config

    def grid(kind: str, positions: Sequence[int | None]) -> FloatArray:
        return np.array(
            [
                [
                    [effects.get((Head(kind, layer, head), at), np.nan) for at in positions]
                    for head in range(config.num_heads)
                ]
                for layer in range(config.num_layers(kind))
            ],
            dtype=np.float32,
        )

    return PatchingEffects(
        position=position,
        heads={kind: grid(kind, [None])[..., 0] for kind in config.kinds},
        positions={kind: grid(kind, range(comparison.num_positions[kind])) for kind in config.kinds},
    )


class Comparison:
    """Two runs of one model over the same prefix, up to the first word that differs."""

    def __init__(self, model: Writes, donor: Translation, own: Translation, position: int) -> None:
        """Run the model once for each text.

        Args:
            model: A translator; never changed.
            donor: The translation whose run gives the head outputs.
            own: The translation whose run is patched.
            position: Of the first word that differs.
        """
        self.model = model
        self.source, donor_source = (
            padded_for(model, [[token.id for token in translation.source]]) for translation in (own, donor)
        )
        self.prefix = padded_for(model, [[token.id for token in own.read[: position + 1]]])  # (1, T)
        self.words = donor.written[position].id, own.written[position].id
        with tracing(record=("*.head_outputs",)) as self.trace:
            self.donor_difference = self.logit_difference(model(donor_source, self.prefix))
        self.own_difference = self.logit_difference(model(self.source, self.prefix))
        self.same_length = donor_source.size(1) == self.source.size(1)
        self.num_positions = {"encoder": self.source.size(1), "decoder": position + 1, "cross": position + 1}

    def patches(self) -> list[Patch]:
        """Every head that can be patched, at every position together and at each alone."""
        heads = [head for head in all_heads(self.model) if head.kind != "encoder" or self.same_length]
        return [(head, at) for head in heads for at in (None, *range(self.num_positions[head.kind]))]

    def effects(self, batch: Sequence[Patch]) -> Iterator[float]:
        """The effect of each patch, all computed in one pass; see `PatchingEffects`."""
        names = {hook_name(head.kind, head.layer, "head_outputs") for head, _ in batch}
        edits = {name: patch_rows(self.trace.passes(name)[0][0], cells_at(batch, name)) for name in names}
        with tracing(record=(), edits=edits):
            memory, mask = self.model.encode(self.source.expand(len(batch), -1))
            logits = self.model.decode(self.prefix.expand(len(batch), -1), memory, mask, first=-1)
        own, donor = float(self.own_difference), float(self.donor_difference)
        for difference in self.logit_difference(logits).tolist():
            yield (difference - own) / (donor - own)

    def logit_difference(self, logits: Tensor) -> Tensor:
        """The logit of the donor's word minus that of the own word, at the last position: (B, T, V) → (B,)."""
        donor_word, own_word = self.words
        return logits[:, -1, donor_word] - logits[:, -1, own_word]


def cells_at(batch: Sequence[Patch], name: str) -> list[tuple[int, int, int | None]]:
    """The patches of a batch that belong to one hook point, as (row, head, position)."""
    return [
        (row, head.head, at)
        for row, (head, at) in enumerate(batch)
        if hook_name(head.kind, head.layer, "head_outputs") == name
    ]


def patch_rows(donor: Tensor, cells: Sequence[tuple[int, int, int | None]]) -> Edit:
    """An edit for `*.head_outputs` that copies head outputs of the donor's run into some rows of a batch.

    Args:
        donor: The recorded outputs, (H, T, K).
        cells: (row, head, position) triples; a position of None means every position.
    """

    def edit(outputs: Tensor) -> Tensor:  # (B, H, T, K)
        patched = outputs.clone()
        for row, head, at in cells:
            positions = slice(None) if at is None else at
            patched[row, head, positions] = donor[head, positions].to(outputs)
        return patched

    return edit


def patch_head(checkpoint: Checkpoint, donor: str, text: str, head: Head) -> Translation:
    """Translate a text while one head is patched, position by position, from the translation of the donor.

    Positions that the donor's run does not have stay unchanged.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        donor: The text whose run gives the head's outputs.
        text: The text that is translated.
        head: The head that is patched.

    Raises:
        ConfigError: the model is read-only.
    """
    require_attention_steps(checkpoint.model)
    name = hook_name(head.kind, head.layer, "head_outputs")
    recorded = torch.from_numpy(record_translation(checkpoint, donor, record=(name,))[1].array(name))  # (H, T, K)
    next_position = 0

    def edit(outputs: Tensor) -> Tensor:  # (B, H, T, K), all positions in one pass or one in each
        nonlocal next_position
        start, next_position = next_position, next_position + outputs.size(2)
        donors = recorded[head.head, start:next_position].to(outputs)
        patched = outputs.clone()
        patched[:, head.head, : len(donors)] = donors
        return patched

    return translate(checkpoint, text, edits={name: edit})

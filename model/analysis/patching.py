"""Paste a head: what becomes of a sentence when one head says what it said of another (activation patching).

Both translations begin alike, up to the place where one has its own word and the other another. There, after the same
prefix, the heads of the one run are pasted into the other, one after the other (Vig et al. 2020, section 3; the measure
is the difference of the two words' logits, as Zhang and Nanda 2024 advise).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from model.analysis.availability import require_translation
from model.analysis.importance import all_heads
from model.checkpoints.checkpoint import Checkpoint
from model.inference.padding import padded_for
from model.inference.translate import record_translation, translate
from model.inference.translation import Translation
from model.interventions import Head
from model.trace import Edit, hook_name, tracing

__all__ = ["PatchingEffects", "first_difference", "patch_every_head", "patch_head"]

FloatArray = NDArray[np.float32]
ROWS = 64  # runs at once


@dataclass(frozen=True, kw_only=True)
class PatchingEffects:
    """How much closer each head brings a run to the other's word: 0 = not at all, 1 = as near as the other run is."""

    place: int  # of the first word that differs, counted from 0
    heads: Mapping[str, FloatArray]  # kind → (L, H), pasted at every place
    places: Mapping[str, FloatArray]  # kind → (L, H, P), pasted at one place


def first_difference(one: Translation, other: Translation) -> int | None:
    """Where two translations first have different tokens; None where one is as the other, or its beginning."""
    pairs = zip(one.written, other.written, strict=False)
    return next((place for place, (a, b) in enumerate(pairs) if a.id != b.id), None)


@torch.inference_mode()
def patch_every_head(
    checkpoint: Checkpoint, donor: str, text: str, *, report: Callable[[int, int], object] = lambda done, runs: None
) -> PatchingEffects | None:
    """Paste each head of the run over one sentence into the run over another.

    Heads of the encoder can only be pasted between sentences of the same number of tokens; else they are NaN.

    Args:
        checkpoint: A translator; never changed.
        donor: The text of the other run, from which the heads are taken.
        text: The text of the run that is patched.
        report: Called before each batch of runs with the runs that are done and the runs in all. What it raises ends
            the work.

    Returns:
        None where both translations are the same.

    Raises:
        ConfigError: the model does not translate.
    """
    require_translation(checkpoint)
    model = checkpoint.model
    theirs, ours = translate(checkpoint, donor), translate(checkpoint, text)
    place = first_difference(theirs, ours)
    if place is None:
        return None
    sources = [padded_for(model, [[token.id for token in one.source]]) for one in (theirs, ours)]
    prefix = padded_for(model, [[token.id for token in ours.read[: place + 1]]])
    words = theirs.written[place].id, ours.written[place].id
    with tracing(record=("*.head_outputs",)) as trace:
        wanted = advantage(model(sources[0], prefix), words)
    own = advantage(model(sources[1], prefix), words)
    same_length = sources[0].size(1) == sources[1].size(1)
    heads = [head for head in all_heads(model) if head.kind != "encoder" or same_length]
    widths = {"encoder": sources[1].size(1), "decoder": place + 1, "cross": place + 1}
    cells = [(head, at) for head in heads for at in (None, *range(widths[head.kind]))]
    found: dict[tuple[Head, int | None], float] = {}
    for start in range(0, len(cells), ROWS):
        report(start, len(cells))
        rows = cells[start : start + ROWS]
        names = {hook_name(head.kind, head.layer, "head_outputs") for head, _ in rows}
        edits = {name: pasting(trace.passes(name)[0][0], chosen(rows, name)) for name in names}
        with tracing(record=(), edits=edits):
            memory, mask = model.encode(sources[1].expand(len(rows), -1))
            states = model.decode(prefix.expand(len(rows), -1), memory, mask)[:, -1:]
        for cell, value in zip(rows, advantage(model.project(states), words).tolist(), strict=True):
            found[cell] = (value - float(own)) / (float(wanted) - float(own))

    def grid(kind: str, places: Sequence[int | None]) -> FloatArray:
        layers, count = model.config.num_layers(kind), model.config.num_heads
        return np.array(
            [
                [[found.get((Head(kind, layer, head), at), np.nan) for at in places] for head in range(count)]
                for layer in range(layers)
            ],
            dtype=np.float32,
        )

    return PatchingEffects(
        place=place,
        heads={kind: grid(kind, [None])[..., 0] for kind in model.config.kinds},
        places={kind: grid(kind, range(widths[kind])) for kind in model.config.kinds},
    )


def advantage(logits: Tensor, words: tuple[int, int]) -> Tensor:
    """By how much the logit of the first word is above that of the second at the last place, (B, T, V) → (B,)."""
    return logits[:, -1, words[0]] - logits[:, -1, words[1]]


def chosen(rows: Sequence[tuple[Head, int | None]], name: str) -> list[tuple[int, int, int | None]]:
    """(row, head, place) of those that are pasted at a hook point."""
    return [
        (row, head.head, at)
        for row, (head, at) in enumerate(rows)
        if hook_name(head.kind, head.layer, "head_outputs") == name
    ]


def pasting(given: Tensor, cells: Sequence[tuple[int, int, int | None]]) -> Edit:
    """An edit for `*.head_outputs` that puts `given` (H, T, K) into some rows of a batch, at one place or at all."""

    def edit(outputs: Tensor) -> Tensor:  # (B, H, T, K)
        pasted = outputs.clone()
        for row, head, at in cells:
            places = slice(None) if at is None else at
            pasted[row, head, places] = given[head, places].to(outputs)
        return pasted

    return edit


def patch_head(checkpoint: Checkpoint, donor: str, text: str, head: Head) -> Translation:
    """Translate a text while one head says, place by place, what it said while another text was translated.

    Places that the other run never came to stay as they are.
    """
    name = hook_name(head.kind, head.layer, "head_outputs")
    given = torch.from_numpy(record_translation(checkpoint, donor, record=(name,))[1].array(name))  # (H, T, K)
    position = 0

    def edit(outputs: Tensor) -> Tensor:  # (B, H, T, K), all places in one pass or one in each
        nonlocal position
        start, position = position, position + outputs.size(2)
        there = given[head.head, start:position].to(outputs)
        pasted = outputs.clone()
        pasted[:, head.head, : len(there)] = there
        return pasted

    return translate(checkpoint, text, edits={name: edit})

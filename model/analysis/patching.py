"""Patch a head: give it its output for another text, the donor, and see what changes (activation patching).

Both texts lead the model to different outcomes: to another word at some position of the translation or continuation, to
another guess for a masked token, or to another class. The model runs while one head at a time is patched from the
donor's run, and the logits of the two outcomes are compared. The method is causal mediation analysis (Vig et al. 2020,
section 3). Zhang and Nanda (2024, "Towards Best Practices of Activation Patching in Language Models") advise the
difference of two logits as its measure.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from model.analysis.availability import nothing_predicted, require_attention_steps
from model.analysis.importance import Report, all_heads
from model.checkpoints.checkpoint import Loaded
from model.config.section import ConfigError
from model.inference.passes import pass_over
from model.inference.run import FloatArray, Result, Run
from model.inference.translate import compute, record_run
from model.interventions import Head
from model.network.protocols import Reads, Writes
from model.text.pair import Text
from model.trace import Edit, hook_name, tracing

__all__ = [
    "Comparison",
    "Contrast",
    "PatchingEffects",
    "contrast",
    "patch_every_head",
    "patch_head",
]

BATCH_ROWS = 64  # patched runs in one pass
Patch = tuple[Head, int | None]  # a head, and the position where it is patched; None: at every position
Ids = tuple[list[int], list[int]]  # what the encoder reads, and what the decoder reads


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """What two runs are compared in: their inputs, and the first place where their outcomes differ."""

    position: int  # of the first word that differs, counted from 0; 0 for a classifier
    own: Ids
    donor: Ids
    outcomes: tuple[int, int]  # the donor's, the own: token ids or class numbers
    names: tuple[str, str]  # the own, the donor's: as text
    num_positions: Mapping[str, int]  # kind → positions where its heads can be patched
    same_length: bool  # the encoder reads texts with the same number of tokens


@dataclass(frozen=True, kw_only=True)
class PatchingEffects:
    """How far each patched head moves a run towards the donor's outcome: 0 = not at all, 1 = as far as in its run."""

    heads: Mapping[str, FloatArray]  # kind → (L, H), patched at every position
    positions: Mapping[str, FloatArray]  # kind → (L, H, P), patched at one position


def contrast(checkpoint: Loaded, theirs: Result, ours: Result) -> Contrast | None:
    """Find the first outcome in which two runs differ.

    Args:
        checkpoint: The checkpoint of both runs.
        theirs: The run of the donor, by greedy search.
        ours: The run that is patched.

    Returns:
        What is compared; None where both outcomes are equal.

    Raises:
        ConfigError: the positions of both texts do not match, the model predicts nothing in them, or it is read-only.
    """
    model = checkpoint.model
    require_attention_steps(model)
    # The prompts of a language model need the same length, and so do the texts of a model that only reads.
    writes = isinstance(model, Writes)
    own, donor = (one.prompt_length + 1 if writes else len(one.source) for one in (ours, theirs))
    if own != donor:
        raise ConfigError(
            "The receiver has {own} tokens and the donor {donor}. A head is patched position by position, so both "
            "texts need the same number of tokens. Change one word of the donor only.",
            own=own,
            donor=donor,
        )
    places, donors = ([one.position for one in run.outcomes] for run in (ours, theirs))
    if not writes and (not places or places != donors):
        mask = getattr(checkpoint.config.tokenizer, "mask", "")
        if not mask:
            raise nothing_predicted(checkpoint.config)
        raise ConfigError("Replace the same word of both texts by {mask}, so that the model guesses it.", mask=mask)
    pairs = zip(theirs.outcomes, ours.outcomes, strict=False)  # one text may be longer
    differing = (pair for pair in pairs if pair[0].id != pair[1].id and (pair[0].position or 0) >= ours.prompt_length)
    if (found := next(differing, None)) is None:
        return None
    position = found[0].position or 0

    def ids(run: Result) -> Ids:
        # A translator reads the same prefix in both runs, a language model its own prompt first.
        read = run.read if ours.prompt_length else ours.read
        return [token.id for token in run.source], [token.id for token in read[: position + 1]]

    sizes = {"encoder": len(ours.source), "decoder": position + 1, "cross": position + 1}
    return Contrast(
        position=position,
        own=ids(ours),
        donor=ids(theirs),
        outcomes=(found[0].id, found[1].id),
        names=(found[1].text, found[0].text),
        num_positions={kind: sizes[kind] for kind in model.config.kinds},
        same_length=len(ours.source) == len(theirs.source),
    )


@torch.inference_mode()
def patch_every_head(
    checkpoint: Loaded, donor: Text, text: Text, *, report: Report = lambda done, runs: None
) -> PatchingEffects | None:
    """Patch each head of the run over one text with its output in the run over another.

    Heads of a translator's encoder can be patched only between texts with the same number of tokens; otherwise they are
    NaN. Models of other tasks need texts with the same number of tokens.

    Args:
        checkpoint: A loaded checkpoint of any task; never changed.
        donor: The text whose run gives the head outputs.
        text: The text whose run is patched.
        report: Called before each batch with the number of runs done and of all runs. An exception ends the work.

    Returns:
        The effects; None where both outcomes are equal.

    Raises:
        ConfigError: see `contrast`.
    """
    found = contrast(checkpoint, compute(checkpoint, Run(text=donor)), compute(checkpoint, Run(text=text)))
    if found is None:
        return None
    config, comparison = checkpoint.model.config, Comparison(checkpoint.model, found)
    patches = comparison.patches()
    grids = {
        kind: np.full((config.num_layers(kind), config.num_heads, found.num_positions[kind] + 1), np.nan, np.float32)
        for kind in config.kinds
    }  # the last column: every position
    for start in range(0, len(patches), BATCH_ROWS):
        report(start, len(patches))
        batch = patches[start : start + BATCH_ROWS]
        for (head, at), effect in zip(batch, comparison.effects(batch), strict=True):
            grids[head.kind][head.layer, head.head, -1 if at is None else at] = effect
    return PatchingEffects(
        heads={kind: grid[..., -1] for kind, grid in grids.items()},
        positions={kind: grid[..., :-1] for kind, grid in grids.items()},
    )


class Comparison:
    """Two runs of one model, compared in the logits of two outcomes."""

    def __init__(self, model: Reads, found: Contrast) -> None:
        """Run the model once for each text.

        Args:
            model: A model of any task; never changed.
            found: From `contrast`.
        """
        self.model, self.contrast = model, found
        self.own, donor = (pass_over(model, *ids) for ids in (found.own, found.donor))
        with tracing(record=("*.head_outputs",)) as self.trace:
            self.donor_difference = float(self.logit_difference(donor(1, encode=True)))
        self.own_difference = float(self.logit_difference(self.own(1)))

    def patches(self) -> list[Patch]:
        """Every head that can be patched, at every position together and at each alone."""
        heads = [head for head in all_heads(self.model) if head.kind != "encoder" or self.contrast.same_length]
        return [(head, at) for head in heads for at in (None, *range(self.contrast.num_positions[head.kind]))]

    def effects(self, batch: Sequence[Patch]) -> Iterator[float]:
        """The effect of each patch, all computed in one pass; see `PatchingEffects`."""
        names = {hook_name(head.kind, head.layer, "head_outputs") for head, _ in batch}
        edits = {name: patch_rows(self.trace.passes(name)[0][0], cells_at(batch, name)) for name in names}
        with tracing(record=(), edits=edits):
            differences = self.logit_difference(self.own(len(batch), encode=True))  # each row has its own patch
        for difference in differences.tolist():
            share = (difference - self.own_difference) / (self.donor_difference - self.own_difference)
            yield share if math.isfinite(share) else math.inf  # NaN is a head that was not patched

    def logit_difference(self, logits: Tensor | None) -> Tensor:
        """The logit of the donor's outcome minus that of the own outcome at the compared position: (B, N, V) → (B,)."""
        assert logits is not None, "`contrast` requires an outcome"
        place = self.contrast.position if logits.size(1) > 1 else 0
        donor, own = self.contrast.outcomes
        return logits[:, place, donor] - logits[:, place, own]


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


def patch_head(checkpoint: Loaded, donor: Text, text: Text, head: Head) -> Result:
    """Run a model over a text while one head is patched, position by position, from the run of the donor.

    Positions that the donor's run does not have stay unchanged.

    Args:
        checkpoint: A loaded checkpoint; never changed.
        donor: The text whose run gives the head's outputs.
        text: The text whose run is patched.
        head: The head that is patched.

    Raises:
        ConfigError: the model is read-only.
    """
    require_attention_steps(checkpoint.model)
    name = hook_name(head.kind, head.layer, "head_outputs")
    recorded = torch.from_numpy(record_run(checkpoint, Run(text=donor), record=(name,))[1].array(name))  # (H, T, K)
    next_position = 0

    def edit(outputs: Tensor) -> Tensor:  # (B, H, T, K), all positions in one pass or one in each
        nonlocal next_position
        start, next_position = next_position, next_position + outputs.size(2)
        donors = recorded[head.head, start:next_position].to(outputs)
        patched = outputs.clone()
        patched[:, head.head, : len(donors)] = donors
        return patched

    return compute(checkpoint, Run(text=text), edits={name: edit})

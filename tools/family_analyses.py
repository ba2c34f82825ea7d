"""How far each analysis is from the library: one function per analysis, from the runs of both models to a difference.

Each function calls what the pages call, and compares with the library's own model where that computes the number.
Differences are relative to the largest number where the numbers are larger than 1. A function raises ConfigError with
the sentence of the page where the analysis is not offered.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from model.analysis.anatomy import anatomy, derive
from model.analysis.contributions import contributions
from model.analysis.followed import Followed, follow
from model.analysis.influence import influence
from model.analysis.lens import logit_lens
from model.analysis.padded_batch import PaddedBatch, layer_stages, padded_batch
from model.analysis.stations import stations
from model.analysis.zeroing import value_zeroing
from model.config.section import ConfigError
from model.inference.passes import Side
from model.inference.run import Run as ModelRun
from model.network.residual_stream import StackName
from tools.family_patching import patching_difference
from tools.library_run import LibraryRun, Run, run_library

__all__ = ["ANALYSES"]

POSITION, QUERY = 2, 3
SHORT = "A small dog."
FloatArray = NDArray[np.floating]


def relative(ours: FloatArray, theirs: FloatArray) -> float:
    """The largest difference of two arrays, divided by the largest number if that is above 1."""
    ours, theirs = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    return float(np.abs(ours - theirs).max(initial=0.0)) / max(1.0, float(np.abs(theirs).max(initial=0.0)))


def stacks(run: Run) -> list[StackName]:
    names: tuple[StackName, ...] = ("encoder", "decoder")
    return [name for name in names if name in run.library.streams]


def followed_in(run: Run) -> Followed:
    """The run as analyses of the residual stream read it."""
    return Followed(
        checkpoint=run.pair.checkpoint,
        run=run.asked,
        result=run.found,
        record=lambda: run.recording,
        record_layer=lambda stack, layer: run.recording,
    )


def one_head(run: Run) -> float:
    """Each step of one query in each head: the weights against the library's, the outputs against the recorded ones."""
    text, worst = follow(run.pair.checkpoint, ModelRun(text=run.text)), 0.0
    for kind, maps in run.library.maps.items():
        for layer in range(len(maps)):
            parts = anatomy(text, kind, layer)
            size = max(1.0, float(np.abs(parts.head_outputs).max()))
            for head in range(maps.shape[1]):
                query = min(QUERY, maps.shape[2] - 1)
                steps = derive(parts, head, query)
                worst = max(worst, relative(steps.weights, maps[layer, head, query]))
                worst = max(worst, max(steps.differences.values()) / size)
    return worst


def layer_by_layer(run: Run) -> float:
    """Every station of one token in each layer, and the recorded streams against the library's."""
    model, followed = run.pair.checkpoint.model, followed_in(run)
    worst = 0.0
    for name in stacks(run):
        stack = model.stack(name)
        for layer, library in enumerate(run.library.streams[name]):
            recorded = run.recording.array(stack.streams[layer])
            worst = max(worst, relative(recorded, library))
            size = max(1.0, float(np.abs(recorded).max()))
            position = min(POSITION, len(recorded) - 1)
            worst = max(worst, *(one.difference / size for one in stations(followed, name, layer, position)))
    return worst


def predictions(run: Run) -> float:
    """The last row of the lens against the probabilities of the library."""
    outcomes = run.found.outcomes
    logits = torch.tensor(run.library.logits).double()
    lens = logit_lens(followed_in(run))
    expected = logits.sigmoid() if outcomes[0].several else logits.softmax(dim=-1)
    if lens.positions:
        expected = expected[list(lens.positions), [one.id for one in outcomes]]
    chosen = slice(int(outcomes[0].fixed), None)
    return relative(lens.own[-1][chosen], expected.numpy()[chosen])


def why_this_word(run: Run) -> float:
    """The sum of the parts against the difference of two logits of the library, at a few positions."""
    logits = run.library.logits
    outcomes = [one for one in run.found.outcomes if len(one.candidates) > 1 and not one.fixed][-3:]
    if not outcomes:
        raise ConfigError("The model predicts nothing in this text.")
    worst = 0.0
    for outcome in outcomes:
        row = logits if outcome.position is None else logits[outcome.position]
        rivals = [one.id for one in outcome.candidates if one.id != outcome.id]
        for rival in rivals if outcome.position is None else rivals[:1]:
            parts = contributions(followed_in(run), outcome.position or 0, rival)
            expected = float(row[outcome.id]) - float(row[rival])
            size = max(1.0, float(np.abs(row[[outcome.id, rival]]).max()))
            worst = max(worst, abs(parts.total - expected) / size)
    return worst


def read_or_guessed(run: Run) -> float:
    """Each layer as the sum of its vectors, and each layer run again with nothing zeroed, against the recorded one."""
    size = max(1.0, *(float(np.abs(streams).max()) for streams in run.library.streams.values()))
    followed = influence(followed_in(run))
    return max(followed.residual, value_zeroing(followed_in(run)).residual) / size


def masks(run: Run) -> float:
    """The weights of a padded batch against the library's, and those of its short text against the library without it.

    A language model is measured with padding on both sides. Queries that are padding do not count.
    """
    checkpoint = run.pair.checkpoint
    sides: tuple[Side | None, ...] = ("left", "right") if run.pair.task == "continuation" else (None,)
    worst = 0.0
    for side in sides:
        batch = padded_batch(checkpoint, (run.text, SHORT), side=side)
        padded, alone = library_of(run, batch), library_of(run, row_of(batch, 1))
        for kind, maps in padded.batch_maps.items():
            queries, keys = (batch.source_real, batch.source_real) if kind == "encoder" else (batch.read_real,) * 2
            keys = batch.source_real if kind == "cross" else keys
            for layer in range(len(maps)):
                weights = layer_stages(checkpoint, batch, kind, layer)["weights"]
                real = queries[:, None, :, None]
                worst = max(worst, relative(weights * real, maps[layer] * real))
                short = weights[1][:, queries[1]][..., keys[1]]
                worst = max(worst, relative(short, alone.batch_maps[kind][layer, 0]))
    return worst


def row_of(batch: PaddedBatch, row: int) -> PaddedBatch:
    """One text of a batch, without padding."""
    source, read = batch.source_real[row], batch.read_real[row]
    return replace(
        batch,
        source_ids=batch.source_ids[[row]][:, source],
        read_ids=batch.read_ids[[row]][:, read],
        source_real=batch.source_real[[row]][:, source],
        read_real=batch.read_real[[row]][:, read],
    )


def library_of(run: Run, batch: PaddedBatch) -> LibraryRun:
    """The library's run of a batch, with its attention mask."""
    source, read, source_real, read_real = (
        torch.tensor(array) for array in (batch.source_ids, batch.read_ids, batch.source_real, batch.read_real)
    )
    if run.pair.task == "continuation":
        return run_library(run.pair, read, mask=read_real.long())
    return run_library(run.pair, source, read, mask=source_real.long(), read_mask=read_real.long())


ANALYSES: Mapping[str, Callable[[Run], float]] = {
    "One head": one_head,
    "Layer by layer": layer_by_layer,
    "Prediction after each layer": predictions,
    "Why this word": why_this_word,
    "Read or guessed": read_or_guessed,
    "Masks": masks,
    "Patch a head": patching_difference,
}

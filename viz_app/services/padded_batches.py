"""Several sentences as one padded batch: its masks, its scores, and mistakes with masks."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from model.analysis.mask_bugs import BugReport, bug_weights, mask_bug
from model.analysis.mask_mistakes import bugs_of
from model.analysis.padded_batch import STAGES, PaddedBatch, layer_stages, padded_batch
from model.inference.padded_pass import Side
from model.network.protocols import ReadsBatches
from viz_app.server.server_state import remembered
from viz_app.services.listing import CheckpointKey
from viz_app.services.loading import loaded

__all__ = ["STAGES", "batch_of", "bug_names", "bug_of", "bug_weights_of", "score_stages_of", "usual_side"]

FloatArray = NDArray[np.float32]


def usual_side(key: CheckpointKey) -> Side | None:
    """Where the tokenizer of a language model pads; None of other models, which have their padding on the right."""
    model = loaded(key).model
    return model.padding.side if isinstance(model, ReadsBatches) else None


@remembered("Running the batch …")
def batch_of(key: CheckpointKey, texts: tuple[str, ...], side: Side | None = None) -> PaddedBatch:
    """Combine the texts, and their translations by a translator, in one padded batch."""
    return padded_batch(loaded(key), texts, side=side)


@remembered()
def score_stages_of(
    key: CheckpointKey, texts: tuple[str, ...], kind: str, layer: int, row: int, side: Side | None = None
) -> Mapping[str, FloatArray]:
    """Stage, one of `STAGES` → scores of one layer at this stage, for one text of the batch, (H, T, S)."""
    stages = layer_stages(loaded(key), batch_of(key, texts, side), kind, layer)
    return {stage: scores[row] for stage, scores in stages.items()}


def bug_names(key: CheckpointKey, side: Side | None = None) -> tuple[str, ...]:
    """The mistakes that a program with this model can contain."""
    return bugs_of(loaded(key).model, side)


@remembered("Running the batch with the mistake …")
def bug_of(key: CheckpointKey, texts: tuple[str, ...], name: str = "", side: Side | None = None) -> BugReport:
    """The effect of a mistake with masks on a batch; without a name, the batch with correct masks."""
    return mask_bug(loaded(key), texts, name, side=side)


@remembered()
def bug_weights_of(
    key: CheckpointKey, texts: tuple[str, ...], name: str, kind: str, layer: int, row: int, side: Side | None = None
) -> FloatArray:
    """The weights of one layer for one text of the batch, (H, T, S), with a mistake or with correct masks."""
    return bug_weights(loaded(key), batch_of(key, texts, side), name, kind, layer)[row]

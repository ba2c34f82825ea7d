"""Several sentences as one padded batch: its masks, its scores, and mistakes with masks."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from model.analysis.mask_bugs import BugReport, bug_weights, mask_bug
from model.analysis.padded_batch import STAGES, PaddedBatch, layer_stages, padded_batch
from viz_app.server.server_state import remembered
from viz_app.services.listing import CheckpointKey
from viz_app.services.loading import translator

__all__ = ["STAGES", "batch_of", "bug_of", "bug_weights_of", "score_stages_of"]

FloatArray = NDArray[np.float32]


@remembered("Running the batch …")
def batch_of(key: CheckpointKey, texts: tuple[str, ...]) -> PaddedBatch:
    """Translate the texts, and put them together as one padded batch."""
    return padded_batch(translator(key), texts)


@remembered()
def score_stages_of(
    key: CheckpointKey, texts: tuple[str, ...], kind: str, layer: int, row: int
) -> Mapping[str, FloatArray]:
    """Stage, one of `STAGES` → (H, T, S): what one layer does to its scores of one of the texts, in their batch."""
    stages = layer_stages(translator(key), batch_of(key, texts), kind, layer)
    return {stage: scores[row] for stage, scores in stages.items()}


@remembered()
def bug_of(key: CheckpointKey, texts: tuple[str, ...], name: str = "") -> BugReport:
    """What one of the mask mistakes, or with no name none, does to a batch."""
    return mask_bug(translator(key), texts, name)


@remembered()
def bug_weights_of(
    key: CheckpointKey, texts: tuple[str, ...], name: str, kind: str, layer: int, row: int
) -> FloatArray:
    """The weights of one layer for one of the texts, (H, T, S), under a mistake or with no name under none."""
    return bug_weights(translator(key), texts, name, kind, layer)[row]

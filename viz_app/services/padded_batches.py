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
    """Translate the texts, and pad them to one batch."""
    return padded_batch(translator(key), texts)


@remembered()
def score_stages_of(
    key: CheckpointKey, texts: tuple[str, ...], kind: str, layer: int, row: int
) -> Mapping[str, FloatArray]:
    """Stage, one of `STAGES` → scores of one layer at this stage, for one text of the batch, (H, T, S)."""
    stages = layer_stages(translator(key), batch_of(key, texts), kind, layer)
    return {stage: scores[row] for stage, scores in stages.items()}


@remembered()
def bug_of(key: CheckpointKey, texts: tuple[str, ...], name: str = "") -> BugReport:
    """The effect of a mistake with masks on a batch; without a name, the batch with right masks."""
    return mask_bug(translator(key), texts, name)


@remembered()
def bug_weights_of(
    key: CheckpointKey, texts: tuple[str, ...], name: str, kind: str, layer: int, row: int
) -> FloatArray:
    """The weights of one layer for one text of the batch, (H, T, S), with a mistake or with right masks."""
    return bug_weights(translator(key), texts, name, kind, layer)[row]

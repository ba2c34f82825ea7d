"""Three measures of every head over one sentence: its weights, what happens without it, and its gradient."""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from model.inference.run import Run
from viz_app.services.analyses import head_effects_of
from viz_app.services.head_analyses import gradient_importance_of
from viz_app.services.listing import CheckpointKey
from viz_app.services.results import result_of

__all__ = ["KINDS_IN_ORDER", "head_effects", "head_gradients", "largest_weights"]

FloatArray = NDArray[np.float32]
KINDS_IN_ORDER = ("encoder", "decoder", "cross")


def joined(found: Mapping[str, FloatArray]) -> FloatArray:
    """Kind → (L, H) as one array of all heads."""
    return np.concatenate([found[kind].ravel() for kind in KINDS_IN_ORDER])


def largest_weights(key: CheckpointKey, text: str) -> FloatArray:
    """The mean over the queries of the largest weight of each head. The first query of a decoder has only one key."""
    maps = result_of(key, Run(text=text)).maps
    return joined({kind: maps[kind][:, :, int(kind == "decoder") :].max(axis=-1).mean(axis=-1) for kind in maps})


def head_effects(key: CheckpointKey, text: str) -> FloatArray:
    """By how much the log-probability of the translation changes when each head is silenced, in nats."""
    return np.abs(joined(head_effects_of(key, text).changes))


def head_gradients(key: CheckpointKey, text: str) -> FloatArray:
    """What the gradient predicts for each head, see `gradient_importance`."""
    return joined({kind: found[0] for kind, found in gradient_importance_of(key, ((text, ""),)).items()})

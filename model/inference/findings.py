"""Numbers that are not finite: in the weights of a checkpoint, in what its model computes, and in one run."""

import numpy as np
from torch import Tensor, nn

from model.inference.run import Result
from model.messages import Message, few
from model.trace import Trace

__all__ = ["finding_in_model", "finding_in_run", "not_finite_weights"]

NAMED = 3  # tensors in a sentence


def not_finite_weights(model: nn.Module) -> dict[str, int]:
    """Name of a parameter → how many of its numbers are NaN or infinite, for those that have any."""
    counts = {name: int((~weights.isfinite()).sum()) for name, weights in model.named_parameters()}
    return {name: count for name, count in counts.items() if count}


def finding_in_model(model: nn.Module, trial: Trace) -> Message | None:
    """What is not finite in a model: its weights, or else what it computed in a trial. None for a sound model."""
    if broken := not_finite_weights(model):
        return Message(
            "This model has weights that are not finite: {tensors}. What depends on them is shown as “not a number”.",
            tensors=few([f"{name} ({count:,})" for name, count in broken.items()], NAMED),
        )
    places = (name for name in trial.names if any(map(has_no_number, trial.passes(name))))
    if place := next(places, None):
        return Message(
            "The weights are finite, but not what the model computes from them, first at {place}. What depends on it "
            "is shown as “not a number”.",
            place=place,
        )
    return None


def has_no_number(tensor: Tensor) -> bool:
    """Whether a tensor has NaN or plus infinity. Minus infinity is a masked score."""
    return tensor.is_floating_point() and bool((tensor.isnan() | tensor.isposinf()).any())


def finding_in_run(translation: Result) -> Message | None:
    """How many attention weights of a run are not finite; None if all are."""
    counts = [maps.size - np.count_nonzero(np.isfinite(maps)) for maps in translation.maps.values()]
    if not any(counts):
        return None
    return Message(
        "{n} of {all} attention weights of this run are not a number.",
        n=f"{sum(counts):,}",
        all=f"{sum(maps.size for maps in translation.maps.values()):,}",
    )

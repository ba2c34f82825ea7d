"""Which batches a run takes, how fast it learns and when it ends: pure functions of the recipe and its progress."""

import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

from torch import nn

from model.config.run import TrainConfig
from model.corpora.batch import Rows
from model.corpora.examples import batched
from model.training.run_state import Progress
from model.training.tasks import Task

__all__ = [
    "cooled_down",
    "inverse_square_root",
    "is_over",
    "learning_rate",
    "parameter_groups",
    "remaining_steps",
    "steps_expected",
]


def inverse_square_root(step: int, *, peak: float, warmup_steps: int) -> float:
    """Linear warm-up to `peak`, then decay with 1/√step ("Attention Is All You Need", equation 3).

    Args:
        step: Counted from 1.
        peak: The highest learning rate, reached at `warmup_steps`.
        warmup_steps: Length of the warm-up.
    """
    return peak * min(step / warmup_steps, (warmup_steps / step) ** 0.5)


def cooled_down(step: int, *, last: int, cooldown_steps: int) -> float:
    """Share of the learning rate that is left: 1, and over the last steps linearly to almost nothing.

    What a small model learns at a high rate shows only once the rate has come down (Hägele et al. 2024, "Scaling laws
    and compute-optimal training beyond fixed training durations", section 3).

    Args:
        step: Counted from 1.
        last: The step at which the run is expected to end; epochs differ by some batches, so it may go on for a while.
        cooldown_steps: How many steps it takes; 0 never cools down.
    """
    return min(1.0, max(1, last + 1 - step) / cooldown_steps) if cooldown_steps else 1.0


def learning_rate(step: int, config: TrainConfig, *, last: int) -> float:
    """At a step, counted from 1, of a run that is expected to end with the step `last`."""
    rate = inverse_square_root(step, peak=config.learning_rate, warmup_steps=config.warmup_steps)
    return rate * cooled_down(step, last=last, cooldown_steps=config.cooldown_steps)


def parameter_groups(model: nn.Module, *, attention_rate: float) -> list[dict[str, Any]]:
    """What learns at the whole rate, and self-attention, which learns at its `share` of it.

    A layer that has learned to look at a word's neighbours forgets it at the rate at which words get a meaning
    ("discriminative fine-tuning", Howard and Ruder 2018, section 3.2).
    """
    named = list(model.named_parameters())
    slow = [parameter for name, parameter in named if ".self_attention." in name]
    fast = [parameter for name, parameter in named if ".self_attention." not in name]
    return [{"params": fast, "share": 1.0}, {"params": slow, "share": attention_rate}]


def is_over(progress: Progress, config: TrainConfig) -> bool:
    return (
        progress.epoch > config.max_epochs
        or progress.step >= config.max_steps
        or progress.stale_epochs >= config.patience
    )


def remaining_steps(
    task: Task[Any], config: TrainConfig, progress: Progress, *, batches_a_step: int
) -> Iterator[list[Rows]]:
    """The batches of one optimizer step after the other, to the end of the epoch; every process sees the same."""
    batches = task.batches_of(progress.epoch).epoch(seed=config.seed, number=progress.epoch)
    return batched(islice(batches, progress.batches_done, None), batches_a_step)


def steps_expected(task: Task[Any], config: TrainConfig, *, batches_a_step: int) -> int:
    """How many steps the run has if validation never ends it early."""

    def steps(epoch: int) -> int:
        batches = sum(1 for _ in task.batches_of(epoch).epoch(seed=config.seed, number=epoch))
        return math.ceil(batches / batches_a_step)

    early = min(config.pretrain_epochs, config.max_epochs)
    late = config.max_epochs - early
    return min((early and early * steps(1)) + (late and late * steps(config.max_epochs)), config.max_steps)

"""The batches, the learning rate and the end of a run, as pure functions of the recipe and the progress."""

import math
from collections.abc import Iterator
from itertools import islice

from model.config.run import TrainConfig
from model.corpora.batch import Rows
from model.corpora.examples import batched
from model.training.run_folder import Progress
from model.training.tasks import Task

__all__ = [
    "cooled_down",
    "inverse_square_root",
    "is_over",
    "learning_rate",
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
    """Factor of the learning rate: 1, and over the last steps linearly down to nearly 0.

    What a small model learns at a high rate shows only after the rate has come down (Hägele et al. 2024, "Scaling laws
    and compute-optimal training beyond fixed training durations", section 3).

    Args:
        step: Counted from 1.
        last: The expected last step. Epochs differ by some batches, so the run may take a few more steps.
        cooldown_steps: Length of the cooldown; 0 means none.
    """
    return min(1.0, max(1, last + 1 - step) / cooldown_steps) if cooldown_steps else 1.0


def learning_rate(step: int, config: TrainConfig, *, last: int) -> float:
    """The learning rate at a step, counted from 1. `last` is the expected last step of the run."""
    rate = inverse_square_root(step, peak=config.learning_rate, warmup_steps=config.warmup_steps)
    return rate * cooled_down(step, last=last, cooldown_steps=config.cooldown_steps)


def is_over(progress: Progress, config: TrainConfig) -> bool:
    return (
        progress.epoch > config.max_epochs
        or progress.step >= config.max_steps
        or progress.stale_epochs >= config.patience
    )


def remaining_steps(task: Task, config: TrainConfig, progress: Progress) -> Iterator[list[Rows]]:
    """The batches of each step until the end of the epoch. They are the same for every process, and for any number."""
    batches = task.batches_of(progress.epoch).epoch(seed=config.seed, number=progress.epoch)
    return batched(islice(batches, progress.batches_done, None), progress.batches_a_step)


def steps_expected(task: Task, config: TrainConfig, *, batches_a_step: int) -> int:
    """The number of steps of the run if validation does not end it early."""

    def steps(epoch: int) -> int:
        batches = sum(1 for _ in task.batches_of(epoch).epoch(seed=config.seed, number=epoch))
        return math.ceil(batches / batches_a_step)

    early = min(config.pretrain_epochs, config.max_epochs)
    late = config.max_epochs - early
    return min((early and early * steps(1)) + (late and late * steps(config.max_epochs)), config.max_steps)

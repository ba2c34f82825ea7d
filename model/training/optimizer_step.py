"""One step of the optimizer: the loss of some batches, the gradients of all processes, and Adam."""

import math
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from model.config.run import TrainConfig
from model.corpora.batch import Rows
from model.training.schedule import parameter_groups
from model.training.tasks import AnyTask

__all__ = ["OptimizerStep", "StepLoss", "sum_over_processes"]


@dataclass(frozen=True, kw_only=True)
class StepLoss:
    """The loss of one step, over the batches of all processes."""

    total: float  # in nats, summed over the items
    items: int  # see `Batch.items`
    finite: bool  # the loss and its gradient are numbers that can be used


class OptimizerStep:
    """The loss and the optimizer of a run, distributed over its processes."""

    def __init__(self, *, model: nn.Module, task: AnyTask, config: TrainConfig, accelerator: Accelerator) -> None:
        self.model, self.task, self.config, self.accelerator = model, task, config, accelerator
        optimizer = torch.optim.Adam(
            parameter_groups(model, attention_rate=config.attention_rate),
            lr=config.learning_rate,
            betas=(config.adam_beta1, config.adam_beta2),
            eps=1e-9,
            fused=accelerator.device.type in ("cpu", "cuda"),
        )
        self.loss, self.optimizer = accelerator.prepare(task.loss_of(model, config.label_smoothing), optimizer)

    @property
    def batches(self) -> int:
        """The batches of one step, all processes together."""
        return self.config.accumulate * int(self.accelerator.num_processes)

    def compute_gradients(self, step: Sequence[Rows], *, epoch: int, rate: float) -> StepLoss:
        """Compute and clip the gradients.

        Args:
            step: The batches of all processes.
            epoch: Counted from 1.
            rate: The learning rate.
        """
        for group in self.optimizer.param_groups:
            group["lr"] = rate * group["share"]
        total, items = self._backward(step, epoch)
        norm = self.accelerator.clip_grad_norm_(self.model.parameters(), self.config.clip_norm)
        # In fp16 a gradient may overflow: then that step is skipped and the loss is scaled down.
        finite = math.isfinite(total) and (self.config.precision == "fp16" or math.isfinite(norm))
        return StepLoss(total=total, items=items, finite=finite)

    def update_weights(self) -> None:
        self.optimizer.step()

    def release(self) -> None:
        """Give up what holds the process group: its threads must end before Python does."""
        self.loss, self.optimizer = self.accelerator.free_memory(self.loss, self.optimizer)

    def _backward(self, step: Sequence[Rows], epoch: int) -> tuple[float, int]:
        accelerator, batches = self.accelerator, self.task.batches_of(epoch)
        order = {"seed": self.config.seed, "number": epoch}
        own = [batches.load(rows, **order) for rows in step[accelerator.process_index :: accelerator.num_processes]]
        items = int(sum_over_processes(accelerator, sum(batch.items for batch in own)))
        # The last step of an epoch may have too few batches. All processes must take part.
        weighted = [(batch, 1.0) for batch in own] or [(batches.load(step[0], **order), 0.0)]
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        total = torch.zeros((), device=accelerator.device)
        for number, (batch, weight) in enumerate(weighted, start=1):
            # The processes exchange the mean of their gradients once per step.
            with nullcontext() if number == len(weighted) else accelerator.no_sync(self.loss):
                loss = weight * self.loss(batch)
                accelerator.backward(loss * (accelerator.num_processes / items))
            total += loss.detach()
        return sum_over_processes(accelerator, total), items


def sum_over_processes(accelerator: Accelerator, value: Tensor | int) -> float:
    """The sum of a number that each process has."""
    summed: Tensor = accelerator.reduce(torch.as_tensor(value, device=accelerator.device), "sum")
    return summed.item()

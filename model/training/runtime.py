"""The device, number format and processes of a run, one step of its optimizer, and how it stops on a signal."""

import math
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.distributed.nn  # before a process group exists: default arguments of its functions would keep it alive
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import InitProcessGroupKwargs, TorchDynamoPlugin
from torch import Tensor, nn

from model.config.run import TrainConfig
from model.config.section import ConfigError
from model.corpora.batch import Rows
from model.network.team import PATIENCE
from model.training.tasks import Task

__all__ = ["OptimizerStep", "StepLoss", "make_accelerator", "stop_on_signal", "sum_over_processes"]

COMPILER = "inductor"  # of torch.compile


def make_accelerator(config: TrainConfig, device: torch.device, *, log_folder: Path | None) -> Accelerator:
    """Set up the device, the number format and, if a launcher started several processes, their communication.

    Raises:
        ConfigError: the device cannot compute in this precision.
    """
    # The library keeps one state per process. Each run starts with a new one.
    AcceleratorState._reset_state(reset_partial_state=not torch.distributed.is_initialized())
    if config.precision == "fp16" and device.type != "cuda":
        raise ConfigError(f'precision = "fp16" needs a CUDA device, but this is {device.type}. Use "bf16" or "fp32".')
    return Accelerator(
        cpu=device.type == "cpu",
        mixed_precision="no" if config.precision == "fp32" else config.precision,
        dynamo_plugin=TorchDynamoPlugin(backend=COMPILER if config.compile else "no", dynamic=True),
        log_with="tensorboard" if log_folder else None,
        project_dir=log_folder,
        kwargs_handlers=[InitProcessGroupKwargs(timeout=PATIENCE)],  # the first process may tokenize for hours
    )


@contextmanager
def stop_on_signal(accelerator: Accelerator) -> Iterator[None]:
    """After Ctrl-C or SIGTERM to any process, all processes save and end after their current step."""

    def request_stop(_number: int, _frame: object) -> None:
        accelerator.set_trigger()

    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, request_stop) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)


def parameter_groups(model: nn.Module, *, attention_rate: float) -> list[dict[str, Any]]:
    """Two groups: self-attention, which learns at a share of the learning rate, and all other parameters.

    At the full rate, which embeddings need, a layer forgets that it learned to attend to neighbours ("discriminative
    fine-tuning", Howard and Ruder 2018, section 3.2).
    """
    named = list(model.named_parameters())
    slow = [parameter for name, parameter in named if ".self_attention." in name]
    fast = [parameter for name, parameter in named if ".self_attention." not in name]
    return [{"params": fast, "share": 1.0}, {"params": slow, "share": attention_rate}]


@dataclass(frozen=True, kw_only=True)
class StepLoss:
    """The loss of one step, over the batches of all processes."""

    total: float  # in nats, summed over the items
    items: int  # see `Batch.items`
    finite: bool  # the loss and its gradient are numbers that can be used


class OptimizerStep:
    """The loss and the optimizer of a run, distributed over its processes."""

    def __init__(self, *, model: nn.Module, task: Task, config: TrainConfig, accelerator: Accelerator) -> None:
        self.model, self.task, self.config, self.accelerator = model, task, config, accelerator
        optimizer = torch.optim.Adam(
            parameter_groups(model, attention_rate=config.attention_rate),
            lr=config.learning_rate,
            betas=(config.adam_beta1, config.adam_beta2),
            eps=1e-9,
            fused=accelerator.device.type in ("cpu", "cuda"),
        )
        self.loss, self.optimizer = accelerator.prepare(task.loss(model, config.label_smoothing), optimizer)

    def compute_gradients(self, step: Sequence[Rows], *, epoch: int, rate: float) -> StepLoss:
        """Compute and clip the gradients.

        Args:
            step: The batches of all processes, which divide them among themselves.
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

    def release(self) -> None:
        """Give up what holds the process group: its threads must end before Python does."""
        self.loss, self.optimizer = self.accelerator.free_memory(self.loss, self.optimizer)

    def _backward(self, step: Sequence[Rows], epoch: int) -> tuple[float, int]:
        accelerator, batches = self.accelerator, self.task.batches_of(epoch)
        order = {"seed": self.config.seed, "number": epoch}
        own = step[accelerator.process_index :: accelerator.num_processes]
        loaded = [batches.load(rows, **order) for rows in own]
        items = int(sum_over_processes(accelerator, sum(batch.items for batch in loaded)))
        # A step may have fewer batches than there are processes. All must take part.
        weighted = [(batch, 1.0) for batch in loaded] or [(batches.load(step[0], **order), 0.0)]
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        total = torch.zeros((), device=accelerator.device)
        for number, (batch, weight) in enumerate(weighted, start=1):
            if own:  # dropout belongs to the batch, so it is the same in any process and in a resumed run
                torch.manual_seed(batches.chance(own[number - 1], **order))
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

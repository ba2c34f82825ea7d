"""Where a run computes: its device, number format and fellow processes, and how it is asked to stop."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.distributed.nn  # before there is a group: defaults of its functions would keep one alive to the end
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import TorchDynamoPlugin

from model.config.run import TrainConfig
from model.config.section import ConfigError

__all__ = ["make_accelerator", "stop_on_signal"]

COMPILER = "inductor"  # of torch.compile


def make_accelerator(config: TrainConfig, device: torch.device, *, log_folder: Path | None) -> Accelerator:
    """Set up the device, the number format and, where a launcher started several processes, their exchange.

    Raises:
        ConfigError: the device cannot compute in this precision.
    """
    # The library keeps one state a process; each run starts with its own.
    AcceleratorState._reset_state(reset_partial_state=not torch.distributed.is_initialized())
    if config.precision == "fp16" and device.type != "cuda":
        raise ConfigError(f'precision = "fp16" needs a CUDA device, this is {device.type}; use "bf16" or "fp32".')
    return Accelerator(
        cpu=device.type == "cpu",
        mixed_precision="no" if config.precision == "fp32" else config.precision,
        dynamo_plugin=TorchDynamoPlugin(backend=COMPILER if config.compile else "no", dynamic=True),
        log_with="tensorboard" if log_folder else None,
        project_dir=log_folder,
    )


@contextmanager
def stop_on_signal(accelerator: Accelerator) -> Iterator[None]:
    """Ctrl-C and SIGTERM, to any of the processes, ask all to save and end after their current step."""

    def request_stop(_number: int, _frame: object) -> None:
        accelerator.set_trigger()

    signals = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, request_stop) for number in signals]
    try:
        yield
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)

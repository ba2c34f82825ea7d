"""The device, number format and processes of a run, and how it stops on a signal."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
import torch.distributed.nn  # before a process group exists: default arguments of its functions would keep it alive
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import TorchDynamoPlugin

from model.config.run import TrainConfig
from model.config.section import ConfigError

__all__ = ["make_accelerator", "stop_on_signal"]

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

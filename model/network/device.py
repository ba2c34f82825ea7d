"""Where a model computes, CPU or GPU, and in which number format."""

import torch
from torch import Tensor

from model.config.section import ConfigError

__all__ = ["pick_device", "working_dtype"]


def pick_device(name: str) -> torch.device:
    """The device with this name; `auto` is the fastest one.

    Raises:
        ConfigError: this machine has no such device.
    """
    available = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        return torch.device("cuda" if available["cuda"] else "mps" if available["mps"] else "cpu")
    if not available.get(name):
        raise ConfigError("This machine has no {name}. Use auto or cpu.", name=name)
    return torch.device(name)


def working_dtype(x: Tensor) -> torch.dtype:
    """The format of autocast on the device of `x`, or without autocast the format of `x` itself."""
    device = x.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype

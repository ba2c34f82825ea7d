"""The device of a model: CPU or GPU."""

import torch

from model.config.section import ConfigError

__all__ = ["pick_device"]


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

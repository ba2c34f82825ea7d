"""Where a model computes."""

import torch

from model.config.section import ConfigError

__all__ = ["pick_device"]


def pick_device(name: str) -> torch.device:
    """`auto` takes the fastest there is.

    Raises:
        ConfigError: this machine has no such device.
    """
    there = {"cpu": True, "cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if name == "auto":
        return torch.device("cuda" if there["cuda"] else "mps" if there["mps"] else "cpu")
    if not there.get(name):
        raise ConfigError(f"This machine has no {name}; use auto or cpu.")
    return torch.device(name)

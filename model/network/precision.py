"""The number format of a computation."""

import torch
from torch import Tensor

__all__ = ["working_dtype"]


def working_dtype(x: Tensor) -> torch.dtype:
    """The format of autocast on the device of `x`, or without autocast the format of `x` itself."""
    device = x.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype

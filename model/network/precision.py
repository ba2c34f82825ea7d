"""In which number format a tensor is worked on."""

import torch
from torch import Tensor

__all__ = ["working_dtype"]


def working_dtype(x: Tensor) -> torch.dtype:
    """The format that autocast works in on the device of `x`; where there is no autocast, that of `x` itself."""
    device = x.device.type
    return torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else x.dtype

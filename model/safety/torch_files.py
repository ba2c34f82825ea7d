"""State dicts in files of `torch.save`. Such a file is a pickle, which may run code; here it builds only tensors."""

import io
import pickletools
import re
import zipfile
from pathlib import Path
from typing import BinaryIO

import torch
from torch import Tensor

from model.files import CheckpointError
from model.safety.pickles import why_no_state_dict

__all__ = ["read_state_dict"]

MAX_PICKLE_BYTES, MAX_PICKLE_STEPS = 4 << 20, 400_000  # enough for about 10,000 tensors
# What the pickle may build. PyTorch allows more, and some of that takes memory without end.
HARMLESS = re.compile(
    r"collections (OrderedDict|Counter)|torch(\.storage)? \w+Storage|torch (Size|device|b?float\d+|u?int\d+|bool)"
    r"|torch\._utils _rebuild_(tensor|tensor_v2|parameter)"
)
WRAPPERS = ("state_dict", "model_state_dict", "model")  # keys under which training loops store a state dict


def read_state_dict(path: Path) -> dict[str, Tensor]:
    """Read the state dict in a file of `torch.save`. Its tensors stay in the file until they are used.

    Raises:
        CheckpointError: the file is missing, damaged or compressed, or it contains more than tensors.
    """
    try:
        is_archive = require_plain(path)
        loaded = torch.load(path, map_location="cpu", weights_only=True, mmap=is_archive)
    except CheckpointError:
        raise
    except OSError as error:
        raise CheckpointError("{path} cannot be read: {error}", path=path.name, error=error) from error
    except Exception as error:  # a pickle may fail in any way; PyTorch refuses what is not a tensor
        raise CheckpointError(why_no_state_dict(path)) from error
    for name in WRAPPERS:
        if isinstance(loaded, dict) and isinstance(loaded.get(name), dict):
            loaded = loaded[name]
    if not isinstance(loaded, dict) or not all(isinstance(value, Tensor) for value in loaded.values()):
        raise CheckpointError("{path} is not a state dict. A state dict maps names to tensors.", path=path.name)
    if any(tensor.numel() * tensor.element_size() > tensor.untyped_storage().nbytes() for tensor in loaded.values()):
        raise CheckpointError("{path} is damaged: a tensor is larger than its data.", path=path.name)
    return {str(name): tensor for name, tensor in loaded.items()}


def require_plain(path: Path) -> bool:
    """Refuse a file of `torch.save` that is compressed, or that builds more than tensors.

    Returns:
        Whether the file is an archive, which PyTorch can map into memory. Files from before PyTorch 1.6 are not.

    Raises:
        CheckpointError: the file is compressed.
        ValueError, KeyError, zipfile.BadZipFile: it is damaged, or it builds more than tensors.
    """
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            file.seek(0)
            for _ in range(5):  # a magic number, a version, the system, the tensors, the keys of their storages
                require_harmless(file)
            return False
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            if any(member.filename.endswith("/constants.pkl") for member in members):
                raise ValueError("it is a TorchScript program.")
            if any(member.compress_type != zipfile.ZIP_STORED for member in members):
                raise CheckpointError(
                    "{path} is compressed. Save it again with torch.save, without compression.", path=path.name
                )
            # PyTorch reads only one, and its search ignores upper and lower case.
            pickles = [member for member in members if member.filename.lower().endswith("data.pkl")]
            if len(pickles) != 1:
                raise ValueError(f"it holds {len(pickles)} pickles.")
            with archive.open(pickles[0]) as opened:
                require_harmless(io.BytesIO(opened.read(MAX_PICKLE_BYTES)))
    return True


def require_harmless(file: BinaryIO) -> None:
    """Refuse a pickle that names anything but tensors.

    Raises:
        ValueError: it names something else, or has more than `MAX_PICKLE_STEPS` steps.
    """
    for count, (step, argument, _) in enumerate(pickletools.genops(file)):
        if step.name in ("GLOBAL", "INST") and not HARMLESS.fullmatch(str(argument)):
            raise ValueError(f"it names {argument}.")
        if step.name in ("STACK_GLOBAL", "EXT1", "EXT2", "EXT4"):
            raise ValueError("it names an object that cannot be checked.")
        if count > MAX_PICKLE_STEPS:
            raise ValueError("it has more steps than a state dict.")

"""The file `headlight.toml`, which describes weights that a tutorial's code saved: read and written as plain values."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from model.checkpoints.checkpoint import DESCRIPTION
from model.files import CheckpointError
from model.safety.errors import first_line
from model.safety.json_files import MAX_CONFIG_BYTES, read_text

__all__ = ["read_values"]


def read_values(folder: Path) -> Mapping[str, Any]:
    """The values of `headlight.toml`. Its setting `task` is "translation", or "continuation" for a decoder alone.

    Raises:
        CheckpointError: it cannot be read, or it is not TOML.
    """
    try:
        return tomllib.loads(read_text(folder / DESCRIPTION, max_bytes=MAX_CONFIG_BYTES))
    except (OSError, ValueError, RecursionError) as error:
        raise CheckpointError(
            "{description} of {folder} cannot be used: {reason}",
            description=DESCRIPTION,
            folder=folder.name,
            reason=first_line(error),
        ) from error

"""Recognises weights without a `headlight.toml` by the names and shapes of their tensors."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from model.files import CheckpointError
from model.safety.torch_files import SavedFile, read_saved_file

__all__ = ["RECOGNISERS", "WEIGHTS", "Recogniser", "recognised"]

# From a saved file to the values of a `headlight.toml`, or None where its names are those of another layout. What the
# tensors cannot tell, such as `num_heads` in the table [model], is left out.
Recogniser = Callable[[SavedFile], Mapping[str, Any] | None]
RECOGNISERS: tuple[Recogniser, ...] = ()
WEIGHTS = (".safetensors", ".pt", ".pth", ".bin", ".ckpt")


def recognised(folder: Path) -> Mapping[str, Any] | None:
    """The values of a `headlight.toml` for the weights of a folder, or None if no layout fits.

    Raises:
        CheckpointError: there is no file of weights, there are several, or it cannot be read.
    """
    weights = weights_in(folder)
    saved = read_saved_file(weights)
    found = next((values for values in (recogniser(saved) for recogniser in RECOGNISERS) if values), None)
    return None if found is None else {"weights": weights.name, **found}


def weights_in(folder: Path) -> Path:
    """The only file of weights in a folder.

    Raises:
        CheckpointError: there is none, or there are several.
    """
    files = sorted(path for path in folder.iterdir() if path.suffix in WEIGHTS and path.is_file())
    if len(files) == 1:
        return files[0]
    if not files:
        raise CheckpointError(
            "{folder} has no weights. Add a file that ends with {endings}.",
            folder=folder.name,
            endings=", ".join(WEIGHTS),
        )
    raise CheckpointError(
        "{folder} has several files of weights: {files}. Keep one of them there.",
        folder=folder.name,
        files=", ".join(path.name for path in files),
    )

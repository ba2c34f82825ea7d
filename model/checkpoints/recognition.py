"""Recognises weights without a `headlight.toml` by the names and shapes of their tensors."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from model.checkpoints.checkpoint import CONFIG, DESCRIPTION
from model.checkpoints.decoder_files import logged_model, with_decoder_files
from model.checkpoints.decoder_recognition import DECODER_RECOGNISERS
from model.checkpoints.description_file import UNKNOWN
from model.checkpoints.found_vocabulary import find_vocabulary
from model.checkpoints.tutorials import recognise_tutorial
from model.files import CheckpointError
from model.safety.folder_files import is_kept, require_whole_files, why_no_checkpoint
from model.safety.torch_files import SavedFile, read_saved_file

__all__ = [
    "RECOGNISERS",
    "WEIGHTS",
    "Recogniser",
    "has_only_weights",
    "recognised",
    "require_described",
    "require_recognised",
]

# From a saved file to the values of a `headlight.toml`, or None where its names are those of another layout. What the
# tensors cannot tell is `UNKNOWN`, such as `num_heads` in the table [model].
Recogniser = Callable[[SavedFile], Mapping[str, Any] | None]
RECOGNISERS: tuple[Recogniser, ...] = (recognise_tutorial, *DECODER_RECOGNISERS)
WEIGHTS = (".safetensors", ".pt", ".pth", ".bin", ".ckpt")


def has_only_weights(folder: Path) -> bool:
    """Whether a folder has weights of a model and nothing that describes them."""
    described = (folder / DESCRIPTION).is_file() or ((folder / CONFIG).is_file() and not logged_model(folder))
    if described or (folder / "adapter_config.json").is_file():  # an adapter only changes a model
        return False
    return folder.is_dir() and any(is_weights(path) for path in folder.iterdir())


def is_weights(path: Path) -> bool:
    return path.suffix in WEIGHTS and is_kept(path.name) and path.is_file()


def recognised(folder: Path) -> Mapping[str, Any] | None:
    """The values of a `headlight.toml` for the weights of a folder, or None if no layout fits.

    Raises:
        CheckpointError: there is no file of weights, there are several, or it cannot be read.
    """
    weights = weights_in(folder)
    saved = read_saved_file(weights)
    found = next((values for values in (recogniser(saved) for recogniser in RECOGNISERS) if values), None)
    if found is None:
        return None
    model = {"num_heads": UNKNOWN, **found["model"]}
    values = {"weights": weights.name, **found, "model": model}
    if found.get("task") == "continuation":
        return with_decoder_files(values, folder)
    return with_vocabulary(values, folder, saved) if "source_embedding" in values.get("names", {}) else values


def with_vocabulary(values: Mapping[str, Any], folder: Path, saved: SavedFile) -> Mapping[str, Any]:
    """The values with the vocabularies of the folder, by the rows of the embeddings in [names]."""
    names, specials = values["names"], values.get("specials", {})
    rows = [len(saved.tensors[f"{names[f'{side}_embedding']}.weight"]) for side in ("source", "target")]
    found = find_vocabulary(folder, (rows[0], rows[1]), around_source=specials.get("around_source", False))
    return {**values, **found, "specials": found["specials"] | specials}


def require_recognised(folder: Path) -> Mapping[str, Any]:
    """As `recognised`.

    Raises:
        CheckpointError: also if no layout fits. The message says what to do.
    """
    if (values := recognised(folder)) is None:
        raise CheckpointError(why_no_checkpoint(folder.name, [path.name for path in folder.iterdir()]))
    return values


def require_described(folder: Path) -> None:
    """Raises CheckpointError if a folder has weights and no description. The message says how to write one."""
    if has_only_weights(folder):
        require_whole_files(folder)
        require_recognised(folder)
        raise CheckpointError(
            "{folder} has weights, but no {description}. Headlight knows the names of these weights. Write the file "
            "with `python -m model describe {path}`.",
            folder=folder.name,
            description=DESCRIPTION,
            path=folder,
        )


def weights_in(folder: Path) -> Path:
    """The only file of weights in a folder.

    Raises:
        CheckpointError: there is none, or there are several.
    """
    files = sorted(path for path in folder.iterdir() if is_weights(path))
    if len(files) > 1:  # llama2.c writes model.bin and tokenizer.bin for its program in C
        files = [path for path in files if path.suffix == ".safetensors" or is_saved_by_torch(path)]
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


def is_saved_by_torch(path: Path) -> bool:
    """Whether a file begins as those of `torch.save`: as an archive, or as the number in older files."""
    with path.open("rb") as file:
        return file.read(3) in (b"PK\x03", b"\x80\x02\x8a")

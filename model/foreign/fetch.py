"""Bring a checkpoint from the Hugging Face Hub into a folder; the app itself never downloads anything."""

import re
from pathlib import Path

import httpx2
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

from model.files import CheckpointError

__all__ = ["fetch"]

# Configuration, weights and tokenizer, and the card; no code, and no weights for other libraries.
NEEDED = re.compile(r"[^/]+\.(json|safetensors|spm|model|txt)|README\.md")
OLD_WEIGHTS = "pytorch_model.bin"


def fetch(name: str, root: Path, *, revision: str | None = None) -> Path:
    """Download what is needed of a repository, with progress; what was interrupted goes on where it stopped.

    Args:
        name: Such as Helsinki-NLP/opus-mt-en-de.
        root: The folder in which one of that name is made.
        revision: A branch, a tag or a commit; by default the newest.

    Returns:
        The new folder.

    Raises:
        CheckpointError: there is no such repository, or it cannot be reached or written.
    """
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise CheckpointError(f"{name!r} is no name of a repository; it looks like Helsinki-NLP/opus-mt-en-de.")
    folder = root / name.partition("/")[2]
    try:
        # Listing the files by themselves would try again for half a minute where there is no network.
        files = [file.rfilename for file in HfApi().model_info(name, revision=revision).siblings or ()]
        wanted = [file for file in files if NEEDED.fullmatch(file)]
        if not any(file.endswith(".safetensors") for file in wanted):
            wanted += [OLD_WEIGHTS] if OLD_WEIGHTS in files else []
        if "config.json" not in wanted:
            raise CheckpointError(f"{name} has no config.json, so it is no model that could be opened.")
        snapshot_download(name, revision=revision, local_dir=folder, allow_patterns=wanted)
    except (httpx2.HTTPError, HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise CheckpointError(f"{name} could not be fetched: {said}. What has arrived is kept; try again.") from error
    return folder

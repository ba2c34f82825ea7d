"""Download a checkpoint from the Hugging Face Hub into a folder. The app itself never downloads anything."""

import re
from pathlib import Path

import httpx2
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

from model.files import CheckpointError

__all__ = ["fetch"]

# Configuration, weights, tokenizer and card. No code, and no weights for other libraries.
NEEDED = re.compile(r"[^/]+\.(json|safetensors|spm|model|txt)|README\.md")
OLD_WEIGHTS = "pytorch_model.bin"


def fetch(name: str, root: Path, *, revision: str | None = None) -> Path:
    """Download the needed files of a repository and show the progress. An interrupted download continues.

    Args:
        name: Name of the repository, such as Helsinki-NLP/opus-mt-en-de.
        root: The folder that will contain the new folder.
        revision: A branch, a tag or a commit; by default the newest.

    Returns:
        The new folder.

    Raises:
        CheckpointError: there is no such repository, or it cannot be reached, or the folder cannot be written.
    """
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        raise CheckpointError(
            f"{name!r} is not the name of a repository. Write a name such as Helsinki-NLP/opus-mt-en-de."
        )
    folder = root / name.partition("/")[2]
    try:
        # `list_repo_files` would retry for half a minute without a network.
        files = [file.rfilename for file in HfApi().model_info(name, revision=revision).siblings or ()]
        wanted = [file for file in files if NEEDED.fullmatch(file)]
        if not any(file.endswith(".safetensors") for file in wanted):
            wanted += [OLD_WEIGHTS] if OLD_WEIGHTS in files else []
        if "config.json" not in wanted:
            raise CheckpointError(f"{name} has no config.json, so it cannot be opened as a model.")
        snapshot_download(name, revision=revision, local_dir=folder, allow_patterns=wanted)
    except (httpx2.HTTPError, HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise CheckpointError(
            f"{name} could not be downloaded: {reason}. Try again; finished files are not downloaded twice."
        ) from error
    return folder

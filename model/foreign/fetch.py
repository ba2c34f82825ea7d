"""Download a checkpoint from the Hugging Face Hub into a folder. The app itself never downloads anything."""

import re
from collections.abc import Sequence
from pathlib import Path

import httpx2
from huggingface_hub import HfApi, snapshot_download
from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

from model.files import CheckpointError
from model.safety.folder_files import WEIGHTS, is_hidden, is_kept, why_no_checkpoint, why_no_weights

__all__ = ["fetch"]

OLD_WEIGHTS = re.compile(r"pytorch_model(-\d+-of-\d+)?\.bin")
TEMPLATES = re.compile(r"additional_chat_templates/[^/]+\.jinja")


def fetch(name: str, root: Path, *, revision: str | None = None) -> tuple[Path, tuple[str, ...]]:
    """Download the needed files of a repository and show the progress. An interrupted download continues.

    Args:
        name: Name of the repository, such as Helsinki-NLP/opus-mt-en-de.
        root: The folder that will contain the new folder.
        revision: A branch, a tag or a commit; by default the newest.

    Returns:
        The new folder, and the names of the files of the repository that were not downloaded.

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
        files = [file for file in files if not is_hidden(file)]
        wanted = needed(files)
        if "config.json" not in wanted:
            raise CheckpointError(why_no_checkpoint(name, files))
        if not any(file.endswith(WEIGHTS) for file in wanted):
            raise CheckpointError(why_no_weights(name, files))
        snapshot_download(name, revision=revision, local_dir=folder, allow_patterns=wanted)
    except (httpx2.HTTPError, HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError) as error:
        reason = (str(error).strip() or type(error).__name__).splitlines()[0].rstrip(".")
        raise CheckpointError(
            f"{name} could not be downloaded: {reason}. Try again; finished files are not downloaded twice."
        ) from error
    return folder, tuple(file for file in files if file not in wanted)


def needed(files: Sequence[str]) -> list[str]:
    """Configuration, weights, tokenizer and card: no code, no weights for other libraries, and no weights twice."""
    kept = [file for file in files if ("/" not in file and is_kept(file)) or TEMPLATES.fullmatch(file)]
    new = any(re.fullmatch(r"model(-\d+-of-\d+)?\.safetensors", file) for file in kept)
    weights = [file for file in kept if file.endswith(".safetensors") or (not new and OLD_WEIGHTS.fullmatch(file))]
    return [file for file in kept if file in weights or not file.endswith(WEIGHTS)]

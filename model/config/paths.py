"""The folders of our files, in the repository or in an installation by pip, and the folders of checkpoints."""

import os
from contextlib import suppress
from pathlib import Path

__all__ = ["CHECKPOINTS", "HOME", "checkpoint_folders", "folder_for_new"]

ROOT = Path(__file__).resolve().parents[2]
# An installation keeps all files that are not packages in one folder (pyproject.toml).
INSTALLED = ROOT / "headlight" / "app"
HOME = INSTALLED if (INSTALLED / "streamlit_app.py").is_file() else ROOT
CHECKPOINTS = HOME / "checkpoints"


def named_folders() -> list[Path]:
    """The folders in the environment variable `HEADLIGHT_CHECKPOINTS`."""
    return [Path(name) for name in os.environ.get("HEADLIGHT_CHECKPOINTS", "").split(os.pathsep) if name]


def own_folder() -> Path:
    """The default folder for a new checkpoint. In an installation, it is one that pip does not delete."""
    return CHECKPOINTS if HOME == ROOT else Path.home() / "headlight"


def checkpoint_folders() -> list[Path]:
    """All folders with checkpoints: the bundled ones, those in `HEADLIGHT_CHECKPOINTS`, and the default folder."""
    folders = [CHECKPOINTS, *named_folders()]
    with suppress(RuntimeError, OSError):  # the user may have no home folder, or one that cannot be read
        folders += [own_folder()] if own_folder().is_dir() else []
    return list(dict.fromkeys(folders))


def folder_for_new() -> Path:
    """The folder for a new checkpoint: the first one in `HEADLIGHT_CHECKPOINTS`, or the default folder."""
    named = named_folders()
    return named[0] if named else own_folder()

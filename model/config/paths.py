"""Where our files are, in the repository or where pip has put them, and where checkpoints are looked for."""

import os
from contextlib import suppress
from pathlib import Path

__all__ = ["CHECKPOINTS", "HOME", "checkpoint_folders", "folder_for_new"]

ROOT = Path(__file__).resolve().parents[2]
# Beside the packages in the repository; an installation keeps what is no package in one folder (pyproject.toml).
INSTALLED = ROOT / "headlight" / "app"
HOME = INSTALLED if (INSTALLED / "streamlit_app.py").is_file() else ROOT
CHECKPOINTS = HOME / "checkpoints"


def named_folders() -> list[Path]:
    return [Path(name) for name in os.environ.get("HEADLIGHT_CHECKPOINTS", "").split(os.pathsep) if name]


def own_folder() -> Path:
    """Where a checkpoint goes if no folder is named: an installation's own is one that pip does not take away."""
    return CHECKPOINTS if HOME == ROOT else Path.home() / "headlight"


def checkpoint_folders() -> list[Path]:
    """Where checkpoints are looked for: the bundled ones, those in `HEADLIGHT_CHECKPOINTS`, an installation's own."""
    folders = [CHECKPOINTS, *named_folders()]
    with suppress(RuntimeError, OSError):  # who runs it may have no home, or none that can be read
        folders += [own_folder()] if own_folder().is_dir() else []
    return list(dict.fromkeys(folders))


def folder_for_new() -> Path:
    """Where a checkpoint goes that is to be found: the first folder in `HEADLIGHT_CHECKPOINTS`, else our own."""
    named = named_folders()
    return named[0] if named else own_folder()

"""Where our files are, in the repository or where pip has put them, and where checkpoints are looked for."""

import os
from pathlib import Path

__all__ = ["CHECKPOINTS", "HOME", "checkpoint_folders", "folder_for_new"]

ROOT = Path(__file__).resolve().parent.parent
# Beside the packages in the repository; an installation keeps what is no package in one folder (pyproject.toml).
HOME = ROOT / "headlight" if (ROOT / "headlight" / "streamlit_app.py").is_file() else ROOT
CHECKPOINTS = HOME / "checkpoints"


def named_folders() -> list[Path]:
    return [Path(name) for name in os.environ.get("HEADLIGHT_CHECKPOINTS", "").split(os.pathsep) if name]


def checkpoint_folders() -> list[Path]:
    """Where checkpoints are looked for: the bundled ones, then the folders in `HEADLIGHT_CHECKPOINTS`."""
    return [CHECKPOINTS, *named_folders()]


def folder_for_new() -> Path:
    """Where a checkpoint goes that is to be found: the first folder in `HEADLIGHT_CHECKPOINTS`, else ours."""
    return (*named_folders(), CHECKPOINTS)[0]

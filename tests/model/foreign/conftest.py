"""Folders of `transformers`, made once for all tests of a file."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.foreign_folders import make_folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    made: dict[str, Path] = {}

    def folder(family: str) -> Path:
        if family not in made:
            made[family] = make_folder(tmp_path_factory.mktemp("folders") / family, family)
        return made[family]

    return folder

from pathlib import Path

import pytest

from tests.conftest import TOY_DATA


@pytest.fixture(scope="session")
def few_pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first pairs of the toy corpus, for runs where only a few steps matter; never changed."""
    root = tmp_path_factory.mktemp("few")
    (root / "toy").mkdir()
    for name, lines in (("train", 24), ("val", 3)):
        for language in ("en", "de"):
            text = (TOY_DATA / "toy" / f"{name}.{language}").read_text().splitlines()[:lines]
            (root / "toy" / f"{name}.{language}").write_text("\n".join(text) + "\n")
    return root

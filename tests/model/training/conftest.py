import resource
from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def full_disk() -> Iterator[None]:
    """No file may grow beyond 40 kB: writing more fails half-way, as on a full disk. (Python ignores the signal.)"""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

"""The ids of a training corpus are in files: whole or not at all, of the same corpus, or a sentence says what to do."""

import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from model.checkpoints.checkpoint import CheckpointError
from model.config.recipe import Recipe
from model.corpora.corpora import CorpusError
from model.corpora.examples import SHARE, Example, Examples
from model.training.tokenized import open_tokenized, write_tokenized
from model.training.train import train
from tests.conftest import toy_recipe
from tests.model.training.conftest import full_disk

EXAMPLES: list[Example | None] = [([5, 3], [2, 6, 7, 3]), None, ([60_000, 8, 3], [2, 3])]


def small_recipe(steps: int) -> Recipe:
    settings = {"d_model": 16, "d_ff": 16, "max_length": 24, "max_steps": steps, "batch_tokens": 60}
    return toy_recipe("words").with_settings(settings)


@pytest.fixture
def begun(few_pairs: Path, tmp_path: Path) -> Callable[[], None]:
    """A run of one step in `tmp_path / "out"`, from a corpus in `tmp_path`. Returns what resumes it."""
    shutil.copytree(few_pairs / "toy", tmp_path / "toy")
    out = tmp_path / "out"
    train(small_recipe(1), data_root=tmp_path, out=out, device="cpu")

    def resume() -> None:
        train(small_recipe(2), data_root=tmp_path, out=out, device="cpu", resume=True)

    return resume


def test_examples_come_back_from_the_files_as_they_were(tmp_path: Path) -> None:
    write_tokenized(tmp_path / "ids", EXAMPLES, ("<u2", "<u2"), files={"a": "0"})
    found, files = open_tokenized(tmp_path / "ids")
    assert [found[i] for i in range(len(found))] == [one for one in EXAMPLES if one]
    assert (found.left_out, files) == (1, {"a": "0"})
    assert [side.tolist() for side in found.lengths(np.array([1, 0]))] == [[3, 2], [2, 4]]
    assert Examples.of([([5, 3], (0.25, 0.75))], ("<u2", SHARE))[0] == ([5, 3], [0.25, 0.75])


def test_a_corpus_that_changed_after_the_run_began_is_refused(begun: Callable[[], None], tmp_path: Path) -> None:
    path = tmp_path / "toy" / "train.de"
    before = path.read_text()
    path.write_text(before.replace("e", "E", 1))
    with pytest.raises(
        CorpusError, match=r"toy/train\.de changed after the run in .*out read it\. Put the earlier file"
    ):
        begun()
    shutil.rmtree(tmp_path / "out" / "training" / "ids")  # the state of the run knows the corpus too
    with pytest.raises(CorpusError, match=r"toy/train\.de changed after the run"):
        begun()


def damage_version(ids: Path) -> None:
    facts = json.loads((ids / "ids.json").read_text())
    (ids / "ids.json").write_text(json.dumps(facts | {"format": 99}))


DAMAGES: dict[str, Callable[[Path], object]] = {
    "has the version 99; this Headlight reads version 1": damage_version,
    "is incomplete: there is no ids.json": lambda ids: (ids / "ids.json").unlink(),
    "is incomplete: there is no values.bin": lambda ids: (ids / "values.bin").unlink(),
    "is incomplete: index.bin has 40 of": lambda ids: os.truncate(ids / "index.bin", 40),
    "is damaged": lambda ids: (ids / "ids.json").write_text("{"),
}


@pytest.mark.parametrize("message", DAMAGES)
def test_a_damaged_folder_is_refused_and_written_again_once_it_is_deleted(
    begun: Callable[[], None], tmp_path: Path, message: str
) -> None:
    ids = tmp_path / "out" / "training" / "ids"
    whole = {path.name: path.read_bytes() for path in ids.iterdir()}
    DAMAGES[message](ids)
    with pytest.raises(CorpusError, match=f"{message}.*Delete .*ids and continue with --resume"):
        begun()
    shutil.rmtree(ids)
    begun()
    assert {path.name: path.read_bytes() for path in ids.iterdir()} == whole


def test_a_full_disk_leaves_no_half_written_folder(tmp_path: Path) -> None:
    examples: Iterator[Example] = (([5] * 20 + [3], [2] + [6] * 20 + [3]) for _ in range(10_000))
    with full_disk(), pytest.raises(CheckpointError, match="ids could not be written"):
        write_tokenized(tmp_path / "ids", examples, ("<u2", "<u2"), files={})
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_a_killed_process_left_is_removed_by_the_next_run(few_pairs: Path, tmp_path: Path) -> None:
    left = tmp_path / "out" / "training" / ".ids.4711.part"
    left.mkdir(parents=True)
    (left / "values.bin").write_bytes(b"half")
    train(small_recipe(1), data_root=few_pairs, out=tmp_path / "out", device="cpu")
    assert not left.exists()
    assert (tmp_path / "out" / "training" / "ids" / "ids.json").is_file()

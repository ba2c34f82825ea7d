import shutil
from pathlib import Path

import pytest

from model.checkpoints.checkpoint import Checkpoint, read_config
from model.cli.main import main
from model.corpora.corpora import read_pairs
from model.inference.translate import translate
from model.training.train import train
from tests.conftest import TOY_DATA, toy_recipe
from weights.__main__ import main as write_corpus


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A copy of the toy corpus that may be added to, its training split shortened."""
    root = tmp_path / "data"
    shutil.copytree(TOY_DATA / "toy", root / "toy")
    for path in (root / "toy").glob("train.*"):
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:30]))
    return root


def test_a_distilled_corpus_holds_the_references_and_what_the_teacher_writes(
    toy: Checkpoint, toy_folder: Path, data: Path
) -> None:
    assert write_corpus(["distill", str(toy_folder), "--corpus", "toy", "--beam", "1", "--data-dir", str(data)]) == 0
    references = read_pairs(data, "toy", "train", "en", "de")
    found = read_pairs(data, "toy-distilled", "train", "en", "de")
    assert found[:30] == references
    assert found[30:] == [(source, translate(toy, source).text) for source, _ in references]
    assert read_pairs(data, "toy-distilled", "val", "en", "de") == read_pairs(data, "toy", "val", "en", "de")
    assert sorted(path.name for path in data.iterdir()) == ["toy", "toy-distilled"]
    # A student learns from it, and is tested on what it was made of.
    recipe = toy_recipe("words", max_epochs=1).with_settings({"corpus": "toy-distilled"})
    train(recipe, data_root=data, out=data / "student", device="cpu")
    options = ["--split", "test", "--record", "--beam", "1", "--data-dir", str(data)]
    assert main(["evaluate", str(data / "student"), *options]) == 0
    assert read_config(data / "student").figures.keys() >= {"toy.test.bleu", "valid_bleu"}


def test_a_corpus_that_cannot_be_distilled_is_named(
    toy_folder: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (data / "toy-distilled").mkdir()
    for corpus, message in (("toy", "exists already"), ("toy+toy", "names several corpora"), ("moon", "moon")):
        assert write_corpus(["distill", str(toy_folder), "--corpus", corpus, "--data-dir", str(data)]) == 1
        assert message in capsys.readouterr().err


def test_a_failure_to_write_leaves_nothing(
    toy_folder: Path, data: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(_path: Path, _target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "rename", full)
    assert write_corpus(["distill", str(toy_folder), "--corpus", "toy", "--beam", "1", "--data-dir", str(data)]) == 1
    assert "No space left on device" in capsys.readouterr().err
    assert [path.name for path in data.iterdir()] == ["toy"]

import shutil
from pathlib import Path

import pytest

from model.checkpoints.checkpoint import Checkpoint
from model.config.section import ConfigError
from model.corpora.corpora import read_pairs
from model.inference.translate import translate
from model.training.train import train
from tests.conftest import TOY_DATA, toy_recipe
from weights.__main__ import main as write_corpus


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The toy corpus, and thirty of its English training sentences in a corpus of their own, without German."""
    root = tmp_path / "data"
    shutil.copytree(TOY_DATA / "toy", root / "toy")
    (root / "alone").mkdir()
    kept = read_pairs(root, "toy", "val", "en", "de")[0][0]
    lines = (root / "toy" / "train.en").read_text().splitlines()[:30]
    (root / "alone" / "train.en").write_text("\n".join([*lines, lines[0], kept.upper()]) + "\n")
    return root


def back(toy_folder: Path, data: Path, *more: str) -> int:
    given = ["backtranslate", str(toy_folder), "--corpus", "alone", "--beam", "1", "--data-dir", str(data), *more]
    return write_corpus(given)


def test_each_human_sentence_is_paired_once_with_its_machine_translation(
    toy: Checkpoint, toy_folder: Path, data: Path
) -> None:
    assert back(toy_folder, data, "--apart", "toy") == 0
    found = read_pairs(data, "alone-back-de", "train", "de", "en")
    sentences = list(dict.fromkeys((data / "alone" / "train.en").read_text().splitlines()))
    # The last is one of the validation part in capitals, and is kept apart.
    assert [english for _, english in found] == sentences[:-1]
    assert [german for german, _ in found] == [translate(toy, english).text for _, english in found]


def test_a_model_of_the_other_direction_learns_from_it_and_is_tested_on_what_has_both_languages(
    toy_folder: Path, data: Path
) -> None:
    assert back(toy_folder, data) == 0
    assert len(read_pairs(data, "alone-back-de", "train", "de", "en")) == len(
        set((data / "alone" / "train.en").read_text().splitlines())
    )
    settings = {"corpus": "toy+alone-back-de", "source_language": "de", "target_language": "en"}
    recipe = toy_recipe("words", max_epochs=1).with_settings(settings)
    assert recipe.train.corpora == ("toy",)
    train(recipe, data_root=data, out=data / "student", device="cpu")
    assert read_pairs(data, "toy+alone-back-de", "val", "de", "en") == read_pairs(data, "toy", "val", "de", "en")


def test_sentences_of_all_parts_of_an_apart_corpus_are_left_out(toy_folder: Path, data: Path) -> None:
    for language in ("en", "de"):  # as multi30k has it: its parts have names of their own
        (data / "toy" / f"test.{language}").rename(data / "toy" / f"test_2016_flickr.{language}")
    kept = read_pairs(data, "toy", "test_2016_flickr", "en", "de")[0][0]
    with (data / "alone" / "train.en").open("a") as file:
        file.write(f"{kept}\n")
    assert back(toy_folder, data, "--apart", "toy") == 0
    assert kept not in {english for _, english in read_pairs(data, "alone-back-de", "train", "de", "en")}


def test_a_corpus_without_validation_sentences_is_refused() -> None:
    with pytest.raises(ConfigError, match="alone-back-de"):
        toy_recipe("words").with_settings({"corpus": "alone-back-de"})
    # A name that only has it in its middle is a corpus like any other.
    assert toy_recipe("words").with_settings({"corpus": "low-back-pain2"}).train.corpora == ("low-back-pain2",)


def test_an_unreadable_corpus_is_named_and_leaves_no_files(
    toy_folder: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert back(toy_folder, data, "--apart", "moon") == 1
    assert "moon" in capsys.readouterr().err
    for corpus in ("toy+alone", "deu-eng"):
        assert write_corpus(["backtranslate", str(toy_folder), "--corpus", corpus, "--data-dir", str(data)]) == 1
        assert f"{corpus} is not a folder" in capsys.readouterr().err
    assert sorted(path.name for path in data.iterdir()) == ["alone", "toy"]
    (data / "alone-back-de").mkdir()
    assert back(toy_folder, data) == 1
    assert "exists already" in capsys.readouterr().err

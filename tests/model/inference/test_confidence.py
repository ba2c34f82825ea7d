"""A translator has low confidence in a text that it cannot read, and rarely in other texts."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pytest

from model.checkpoints.checkpoint import Checkpoint, load_checkpoint, read_config
from model.cli.main import main
from model.corpora.class_list import CLASS_LISTS, read_class_list
from model.inference.confidence import (
    USUAL_CONFIDENCE,
    confidence,
    foreign_share,
    low_confidence,
    usual_confidence,
)
from model.inference.translate import translate
from model.text.vocab import UNK_ID
from tests.conftest import BUNDLED, TOY_DATA

NAME = "everyday-en-de"


@pytest.fixture(scope="module")
def checkpoint() -> Checkpoint:
    return load_checkpoint(BUNDLED / NAME)


def doubted(checkpoint: Checkpoint, texts: list[str]) -> float:
    return float(np.mean([bool(low_confidence(checkpoint, text, translate(checkpoint, text))) for text in texts]))


def test_another_language_has_low_confidence_and_class_sentences_rarely(checkpoint: Checkpoint) -> None:
    read, other = (
        [sentence.source for sentence in read_class_list(source, target, folder=CLASS_LISTS)[::3]]
        for source, target in (("en", "de"), ("de", "en"))
    )
    ordinary = [text for text in read if not text.isupper()]
    assert doubted(checkpoint, ordinary) < 0.1  # of its validation sentences it is a fiftieth
    assert doubted(checkpoint, other) > 0.7  # names and numbers are copied, surely, from any language


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Я тебя люблю.", "script"),
        ("我爱你", "script"),
        ("مرحبا", "script"),
        ("🐕‍🦺🐕‍🦺", "vocabulary"),
        ("Je ne parle pas bien le français.", "unsure"),
        ("A man is reading a book.", ""),
        ("A man is reading a book. 🙂", ""),
        ("42", ""),
    ],
)
def test_the_reason_for_low_confidence(checkpoint: Checkpoint, text: str, reason: str) -> None:
    assert low_confidence(checkpoint, text, translate(checkpoint, text)) == reason


def test_unknown_words_give_low_confidence() -> None:
    words = load_checkpoint(BUNDLED / "multi30k-de-en-words")
    assert low_confidence(words, "Xyzzy plugh frotz.", translate(words, "Xyzzy plugh frotz.")) == "vocabulary"
    assert low_confidence(words, "Ein Hund rennt.", translate(words, "Ein Hund rennt.")) == ""


def test_confidence_is_the_geometric_mean_of_the_probabilities(checkpoint: Checkpoint) -> None:
    written = translate(checkpoint, "Two dogs run.").written
    product = math.prod(token.probability for token in written)
    assert confidence(written) == pytest.approx(product ** (1 / len(written)), rel=1e-6)
    assert confidence(()) == 1


def test_the_usual_confidence_is_exceeded_by_98_percent(toy: Checkpoint) -> None:
    texts = (TOY_DATA / "toy" / "train.en").read_text().splitlines()[::4]
    limit = usual_confidence(toy, texts)
    below = [confidence(translate(toy, text).written) < limit - 1e-6 for text in texts]
    assert 0 < sum(below) <= math.ceil(0.02 * len(texts))


def test_shares_of_letters_and_characters(checkpoint: Checkpoint) -> None:
    assert foreign_share("abc абв 1", "en") == 0.5
    assert foreign_share("12 !", "en") == foreign_share("", "en") == foreign_share("абв", "ru") == 0
    encode = checkpoint.tokenizers.source.encode
    assert encode("a dog 🦺").unread_share("a dog 🦺", unknown=UNK_ID) == pytest.approx(1 / 5)
    assert encode("").unread_share("", unknown=UNK_ID) == 0


def test_the_command_line_measures_and_records_the_usual_confidence(
    toy_folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    copy = tmp_path / toy_folder.name
    copy.mkdir()
    for path in toy_folder.iterdir():
        if path.is_file():
            (copy / path.name).write_bytes(path.read_bytes())
    assert main(["evaluate", str(copy), "--certainty", "--record", "--data-dir", str(TOY_DATA)]) == 0
    value = read_config(copy).figures[USUAL_CONFIDENCE]
    assert f"a mean probability of {value} or more in 98\u00a0% of" in capsys.readouterr().out
    assert 0 < value <= 1


def test_a_checkpoint_without_a_measurement_is_never_unsure(checkpoint: Checkpoint) -> None:
    config = dataclasses.replace(checkpoint.config, figures={})
    unmeasured = dataclasses.replace(checkpoint, config=config)
    text = "Je ne parle pas bien le français."
    assert low_confidence(unmeasured, text, translate(unmeasured, text)) == ""

from itertools import islice
from pathlib import Path

import pytest

from model.checkpoints.checkpoint import load_classifier
from model.cli.main import main
from model.corpora.corpora import CorpusError
from model.corpora.overlap import canonical
from model.corpora.reviews import class_reviews, read_reviews
from model.corpora.short_reviews import TEXTS, WORDS, short_reviews
from model.inference.classify import classify
from tests.conftest import BUNDLED


def test_they_are_the_same_for_the_same_seed_and_half_of_them_are_positive() -> None:
    found = list(short_reviews(2000, seed=1))
    assert found == list(short_reviews(2000, seed=1)) != list(short_reviews(2000, seed=2))
    assert 900 < sum(label for _, label in found) < 1100


def test_a_negation_inverts_the_label_and_the_end_of_a_contrast_decides() -> None:
    negations = {"not", "never", "nothing", "nobody", "far", "anything", "hardly", "without", "don't", "won't", "can't"}
    negations |= {"didn't", "isn't", "wasn't", "wouldn't", "did", "no", "none", "wrong"}
    kinds = ("adjectives", "verbs", "nouns", "feelings")
    polarity_of = {word: p for kind in kinds for p, words in WORDS[kind].items() for word in words}
    said = {text.rstrip(".!") for text in (*TEXTS["praise"], *TEXTS["blame"])}
    checked = 0
    for text, label in islice(short_reviews(20_000, seed=3), 3000):
        words = [word.strip(".!,") for word in text.lower().split()]
        if text.lower().rstrip(".!") in said:
            continue
        polar = [polarity_of[word] for word in words if word in polarity_of]
        if len(polar) == 1:
            assert bool(label) == (polar[0] != bool(negations & set(words))), text
            checked += 1
        elif len(polar) == 2:
            # Of two that differ the last counts; two of a kind are listed, and both may be denied.
            denied = polar[0] == polar[1] and "no" in words
            assert bool(label) == (polar[1] != denied), text
        elif len(polar) == 3:
            assert polar == [bool(label)] * 3, text
    assert checked > 1000


def test_training_contains_no_sentence_of_the_class_list(tmp_path: Path) -> None:
    withheld = {canonical(text) for text, _ in class_reviews()}
    assert len(withheld) == 60
    (tmp_path / "sst2").mkdir()
    (tmp_path / "sst2" / "train.tsv").write_text("i loved every minute of it\t1\na dull film\t0\n")
    assert read_reviews(tmp_path, "sst2", "train") == [("a dull film", 0)]
    assert not withheld & {canonical(text) for text, _ in read_reviews(tmp_path, "short-reviews", "train")}


def test_several_corpora_are_trained_on_and_only_the_first_is_tested(tmp_path: Path) -> None:
    (tmp_path / "sst2").mkdir()
    (tmp_path / "sst2" / "train.tsv").write_text("a fine film\t1\n")
    (tmp_path / "sst2" / "dev.tsv").write_text("a poor\tfilm\t0\n")
    train = read_reviews(tmp_path, "sst2+sst2+short-reviews", "train")
    assert train[:2] == [("a fine film", 1)] * 2
    assert len(train) > 10_000
    assert read_reviews(tmp_path, "sst2+short-reviews", "test") == [("a poor\tfilm", 0)]
    with pytest.raises(CorpusError, match="sst2 has no split 'val'"):
        read_reviews(tmp_path, "sst2", "val")
    (tmp_path / "sst2" / "dev.tsv").write_text("a poor film\tbad\n")
    with pytest.raises(CorpusError, match=r"Line 1 of .* must be a sentence, a tab and 0 or 1"):
        read_reviews(tmp_path, "sst2", "test")


def test_evaluate_prints_the_wrong_reviews_of_a_class_list(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["evaluate", "imdb-sentiment", "--class"]) == 0
    *wrong, share = capsys.readouterr().out.splitlines()
    checkpoint, labels = load_classifier(BUNDLED / "imdb-sentiment"), ("negative", "positive")
    expected = [text for text, label in class_reviews() if classify(checkpoint, text).label != labels[label]]
    assert [line.split("\t")[0] for line in wrong] == expected
    assert f"{60 - len(expected)} of 60 right" in share

"""The teacher that counts n-grams, what it says of texts that it has not read, and a classifier that learns from it."""

import csv
import random
import re
from collections import Counter
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
import torch

from model.cli.main import main
from model.config.section import ConfigError
from model.corpora.batch import ClassificationBatch
from model.corpora.corpora import CorpusError
from model.corpora.reviews import read_reviews
from model.training.tasks import ClassificationLoss
from model.training.train import train
from tests.model.network.test_classifier import recipe, write_reviews
from weights.__main__ import main as write_corpus
from weights.label import CUTS, LONGEST_PART, MIXTURE, NEIGHBOURS, STRENGTH, TRUST, learn, mixtures, parts_of

TEXTS = [
    *("good good fun", "it was good", "not bad", "not bad , fun", "it was fun"),
    *("bad , not fun", "it was bad", "not good", "not good , bad", "it was not good"),
]
LABELS = [1] * 5 + [0] * 5


def text_grams(text: str) -> set[str]:
    words = text.split()
    return {" ".join(words[i : i + n]) for n in (1, 2, 3) for i in range(len(words) - n + 1)}


def test_pairs_of_words_distinguish_a_negation() -> None:
    judge = learn(TEXTS * 20, LABELS * 20)
    assert [share > 0.5 for share in judge(TEXTS)] == [bool(label) for label in LABELS]
    unknown, isnt, not_ = judge(["words that nobody wrote", "It ISN'T!", "it is n't !"])
    assert unknown != pytest.approx(judge(["not good"])[0])
    assert isnt == not_
    assert judge([]) == []


def test_the_weights_are_those_of_logistic_regression_over_log_ratios() -> None:
    grams = [text_grams(text) for text in TEXTS]
    kept = sorted(gram for gram in set().union(*grams) if sum(gram in row for row in grams) >= 2)
    holds = np.array([[gram in row for gram in kept] for row in grams], dtype=float)  # (texts, N)
    labels = np.array(LABELS, dtype=float)
    first, second = labels @ holds + 1, (1 - labels) @ holds + 1
    ratio = np.log(first / first.sum() / (second / second.sum()))
    shares = np.array(learn(TEXTS, LABELS)(TEXTS))
    # Where the loss is least its slope is 0: each weight is what the misjudged texts that hold its n-gram pull it to.
    weights = STRENGTH * (labels - shares) @ (holds * ratio)  # (N,)
    scores = (holds * ratio) @ weights + STRENGTH * (labels - shares).sum()
    np.testing.assert_allclose(shares, 1 / (1 + np.exp(-scores)), atol=1e-3)  # as near as its tolerance comes
    assert shares.std() > 0.01


def test_a_text_and_its_parts_get_labels(tmp_path: Path) -> None:
    write_reviews(tmp_path, rows=1000)
    assert write_corpus(["label", "--corpus", "reviews", "--more", "", "--data-dir", str(tmp_path)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["reviews", "reviews-distilled"]
    labels = {tuple(text.split()): label for text, label in read_reviews(tmp_path, "reviews", "train")}
    judged = read_reviews(tmp_path, "reviews-distilled", "train")
    whole = [(text, share) for text, share in judged if tuple(text.split()) in labels]
    assert {tuple(text.split()) for text, _ in whole} == labels.keys()
    assert len(judged) > len(whole)  # the others are parts
    for text, share in whole:
        label = labels[tuple(text.split())]
        assert abs(share - label) < 0.5  # its words tell all
        assert (1 - TRUST) * label <= share <= TRUST + (1 - TRUST) * label
    assert any('.\n "quoted' in text for text, _ in judged)  # the line is still broken where it was
    assert read_reviews(tmp_path, "reviews-distilled", "val") == read_reviews(tmp_path, "reviews", "val")
    # And a classifier learns from it.
    chosen = recipe(max_length=40).with_settings({"corpus": "reviews-distilled", "max_epochs": 2})
    train(chosen, data_root=tmp_path, out=tmp_path / "student", device="cpu")
    with (tmp_path / "student" / "history.csv").open() as file:
        assert max(float(row["valid_accuracy"]) for row in csv.DictReader(file)) > 95
    assert main(["evaluate", str(tmp_path / "student"), "--data-dir", str(tmp_path)]) == 0


def test_pieces_are_a_few_sentences_each_and_short_ones_are_left_out() -> None:
    sentences = [f"The sentence {n} has ten words and ends here now{mark}" for n, mark in enumerate(".!?" * 7)]
    text, found = "\n".join(sentences), list(parts_of("\n".join(sentences), random.Random(3)))
    assert len(found) > 2
    assert set(found) != set(parts_of(text, random.Random(4)))
    for piece in found:
        assert piece in " ".join(sentences)
        assert piece != " ".join(sentences)
        assert 2 <= sum(sentence in piece for sentence in sentences) <= LONGEST_PART  # one alone has too few words
    assert list(parts_of(sentences[0], random.Random(3))) == []
    short = " ".join(sentences[:3])
    for seed in range(20):  # some of them take all three at once
        assert short not in parts_of(short, random.Random(seed))


def test_a_mixture_has_sentences_of_many_texts_each_of_them_once() -> None:
    texts = [". ".join(f"text{t} sentence{s}" for s in range(4)) + "." for t in range(30)]
    found = list(mixtures([*texts, "alone."], random.Random(3)))
    together = " ".join(found)
    assert sorted(re.findall(r"text\d+ sentence\d+", together)) == sorted(
        re.findall(r"text\d+ sentence\d+", str(texts))
    )
    assert "alone" not in together
    assert len(set(re.findall(r"text\d+", found[0]))) > 1
    assert all(MIXTURE[0] <= mixture.count(".") <= MIXTURE[1] for mixture in found[:-1])


def test_a_sentence_is_judged_in_its_text_in_each_cut_and_in_a_mixture(tmp_path: Path) -> None:
    folder = tmp_path / "reviews"
    folder.mkdir()
    said = "of {} was {} and has as many words as a piece must have"
    texts = [
        " ".join(
            f"Sentence{s}from{t} {said.format('this', 'bad' if t % 2 else 'good')}." for s in range(LONGEST_PART + 1)
        )
        for t in range(5 * NEIGHBOURS)
    ]
    rows = [f"{1 - t % 2}\t1\tx\tt{t}\t{text}\n" for t, text in enumerate(texts)]
    (folder / "imdb_train.tsv").write_text("label\trating\tfile\tfilm\ttext\n" + "".join(rows))
    write_corpus(["label", "--corpus", "reviews", "--more", "", "--data-dir", str(tmp_path)])

    def sources_of(corpus: str) -> list[list[str]]:
        return [re.findall(r"(?i)sentence\d+from(\d+)", text) for text, _ in read_reviews(tmp_path, corpus, "train")]

    own, judged = sources_of("reviews"), sources_of("reviews-distilled")
    times = Counter(chain(*judged))
    assert times == dict.fromkeys([source for source, *_ in own], len(own[0]) * (1 + CUTS + 1))
    mixed = [set(sources) for sources in judged if len(set(sources)) > 1]
    assert len(mixed) > 20
    fold = {source: number // NEIGHBOURS for number, (source, *_) in enumerate(own)}
    assert all(len({fold[source] for source in sources}) == 1 for sources in mixed)  # their judge has read none of them


def test_no_classifier_labels_its_own_training_texts(tmp_path: Path) -> None:
    """Each pair of neighbours has its own word, and only this word predicts their label."""
    folder, draw = tmp_path / "reviews", random.Random(1)
    folder.mkdir()
    lines = ["label\trating\tfile\tfilm\ttext"]
    for pair in range(10 * NEIGHBOURS):
        label = draw.randrange(2)
        lines += [f"{label}\t1\tx\tt{pair}\tword{pair} word{pair} film{n}" for n in (1, 2)]
    (folder / "imdb_train.tsv").write_text("\n".join(lines) + "\n")
    write_corpus(["label", "--corpus", "reviews", "--more", "", "--data-dir", str(tmp_path)])
    own = read_reviews(tmp_path, "reviews", "train")
    truth, judged = dict(own), read_reviews(tmp_path, "reviews-distilled", "train")
    held = {text: (share - (1 - TRUST) * truth[text]) / TRUST for text, share in judged}

    def told_apart(shares: dict[str, float]) -> float:
        positive, negative = ([shares[text] for text, label in own if label == wanted] for wanted in (1, 0))
        return float(np.mean(positive) - np.mean(negative))

    texts, labels = zip(*own, strict=True)
    assert told_apart(dict(zip(texts, learn(texts, labels)(texts), strict=True))) > 0.05
    assert told_apart(held) == pytest.approx(0, abs=0.01)


def test_a_doubtful_label_costs_what_its_classes_cost_in_their_shares() -> None:
    loss = ClassificationLoss(torch.nn.Embedding(3, 2), 0.1)
    text = torch.tensor([1])

    def cost(*shares: float) -> float:
        return loss(ClassificationBatch(source=text, shares=torch.tensor([shares]))).item()

    assert cost(0.7, 0.3) == pytest.approx(0.7 * cost(1.0, 0.0) + 0.3 * cost(0.0, 1.0), rel=1e-6)
    assert cost(1.0, 0.0) != pytest.approx(cost(0.0, 1.0))


def test_texts_that_cannot_be_labelled_or_learned_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_reviews(tmp_path)
    write_reviews(tmp_path / "few", rows=50)
    (tmp_path / "few" / "reviews").rename(tmp_path / "few-reviews")
    wrong = {
        ("reviews+x", ""): "reviews+x names several",
        ("x", ""): "no imdb_train.tsv",
        ("few-reviews", ""): "No word occurs in 2 of the 0 texts",
        ("reviews", "x+reviews"): "--more names reviews",
        ("reviews", "x-distilled"): "reviews or x-distilled has probabilities already",
        ("reviews-distilled", ""): "has probabilities already",
    }
    for (corpus, more), message in wrong.items():
        assert write_corpus(["label", "--corpus", corpus, "--more", more, "--data-dir", str(tmp_path)]) == 1
        assert message in capsys.readouterr().err
    with pytest.raises(CorpusError, match=r"Write it with: python -m weights label --corpus reviews"):
        read_reviews(tmp_path, "reviews-distilled", "train")
    (tmp_path / "reviews-distilled").mkdir()
    assert write_corpus(["label", "--corpus", "reviews", "--data-dir", str(tmp_path)]) == 1
    assert "exists already. Remove it" in capsys.readouterr().err
    for line in ("A text.\t1.2", "A text.\tyes", "A text."):
        (tmp_path / "reviews-distilled" / "train.tsv").write_text(f"Fine.\t1.000\n{line}\n")
        with pytest.raises(CorpusError, match=r"Line 2 of .* must be a text, a tab and a number from 0 to 1"):
            read_reviews(tmp_path, "reviews-distilled", "train")
    with pytest.raises(ConfigError, match=r"labels are \['bad', 'good', 'so so'\]; .* have two"):
        recipe(labels=["bad", "good", "so so"])

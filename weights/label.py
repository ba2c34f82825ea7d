"""Writes a corpus of reviews for a small classifier: texts with a teacher's probability of "positive".

"Distilling the Knowledge in a Neural Network" (Hinton et al. 2015): a probability teaches more than a label. The
teacher is a classifier of n-grams and labels only texts that it has not read. It also labels parts of the texts and
mixtures of their sentences, so that a student reads each sentence in several contexts.
"""

import random
import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
from tqdm import tqdm

from model.config.run import CorpusName
from model.corpora.corpora import CorpusError, require_new, write_corpus
from model.corpora.reviews import read_reviews, soft_label_line

__all__ = ["label_reviews", "learn", "mixtures", "parts_of"]

FOLDS = 5
NEIGHBOURS = 100  # texts that stay in one fold: IMDb mostly groups the texts of a film
TRUST = 0.7  # weight of the teacher's probability; the rest is the weight of the label
CUTS = 2  # how often each text is divided into parts, at other places each time
LONGEST_PART, FEWEST_WORDS = 7, 12  # sentences, words
MIXTURE = (3, 20)  # sentences
FEWEST_TEXTS = 2  # an n-gram of a single text teaches nothing about other texts
SMOOTHING = 1.0  # added to the number of texts of each n-gram
STRENGTH = 0.1  # of the data, compared with the L2 penalty of the weights

WORD = r"n't|\w+|[!?.,;:]"
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def learn(texts: Sequence[str], labels: Sequence[float]) -> Callable[[Sequence[str]], list[float]]:
    """A classifier that counts words, pairs and triples: simple, fast to train, and hard to beat on long texts.

    It follows "Baselines and Bigrams" (Wang and Manning 2012, P12-2018, section 2): an n-gram counts more if it is much
    more frequent in one class than in the other. Theirs is an SVM over words and pairs; this is a logistic regression
    that also uses triples.

    Args:
        texts: 30,000 texts of about 170 words take some gigabytes of memory.
        labels: 0 or 1 for each text.

    Returns:
        From some texts to their probabilities of class 1.

    Raises:
        CorpusError: no word occurs in enough texts, or the package scikit-learn is missing.
    """
    try:
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.linear_model import LogisticRegression
    except ImportError as error:
        raise CorpusError("Labelling needs the package scikit-learn. Run: pip install scikit-learn") from error
    grams = CountVectorizer(
        preprocessor=lambda text: text.lower().replace("n't", " n't"), token_pattern=WORD,
        ngram_range=(1, 3), binary=True, min_df=FEWEST_TEXTS,
    )  # fmt: skip
    try:
        counts, classes = grams.fit_transform(texts), np.asarray(labels)
    except ValueError as error:
        raise CorpusError(
            f"No word occurs in {FEWEST_TEXTS} of the {len(texts)} texts. There are too few texts to learn from."
        ) from error
    if len({*labels}) < 2:
        raise CorpusError("All texts have the same label. A classifier needs texts of both classes.")
    first, second = (np.asarray(counts[classes == c].sum(axis=0)).ravel() + SMOOTHING for c in (1, 0))
    ratios = np.log((first / first.sum()) / (second / second.sum()))  # positive if it is more frequent in class 1
    judge = LogisticRegression(C=STRENGTH, solver="liblinear").fit(counts.multiply(ratios).tocsr(), classes)

    def probabilities(unread: Sequence[str]) -> list[float]:
        found = grams.transform(unread).multiply(ratios).tocsr()
        return judge.predict_proba(found)[:, 1].tolist() if len(unread) else []

    return probabilities


def label_reviews(*, data_root: Path, corpus: str, more: str = "") -> Path:
    """Write the corpus `<corpus>-distilled`: training texts, parts and mixtures with the teacher's probabilities.

    Args:
        data_root: Folder of the corpora.
        corpus: The corpus to label.
        more: Another corpus, or several joined by `+`, from which the teacher learns too.

    Returns:
        The new folder. It has only a training split.

    Raises:
        CorpusError: a corpus cannot be read, is too small, consists of several, has no labels, or is named twice, or
            the new folder exists already or cannot be written. Then nothing is written.
    """
    folder = data_root / CorpusName(corpus).distilled().name
    if "+" in corpus:
        raise CorpusError(f"{corpus} names several corpora. Label them one by one.")
    if any(one.is_distilled for one in CorpusName.all_in(f"{corpus}+{more}")):
        raise CorpusError(f"{corpus} or {more} has probabilities already. Name corpora with labels.")
    if corpus in more.split("+"):
        raise CorpusError(f"--more names {corpus}, but a teacher must not read what it labels. Name another corpus.")
    require_new(folder)
    own = read_reviews(data_root, corpus, "train")
    others = read_reviews(data_root, more, "train") if more else []
    folds = [number // NEIGHBOURS % FOLDS for number in range(len(own))]
    lines: list[str] = []
    draws = random.Random(1)
    for fold in tqdm(range(FOLDS), unit=" folds"):
        read = [review for review, its in zip(own, folds, strict=True) if its != fold] + others
        probability = learn([text for text, _ in read], [label for _, label in read])
        unread = [review for review, its in zip(own, folds, strict=True) if its == fold]
        texts = [text for text, _ in unread]
        parts = list(chain(*(parts_of(text, draws) for text in texts * CUTS), mixtures(texts, draws)))
        judged = zip(unread, probability(texts), strict=True)
        lines += [soft_label_line((text, TRUST * share + (1 - TRUST) * label)) for (text, label), share in judged]
        lines += map(soft_label_line, zip(parts, probability(parts), strict=True))
    write_corpus(folder, {"train.tsv": lines})
    return folder


def sentences_of(text: str) -> list[str]:
    return [sentence for part in SENTENCE_END.split(text) if (sentence := part.strip())]


def groups(sentences: Sequence[str], fewest: int, most: int, draws: random.Random) -> Iterator[str]:
    """Groups of `fewest` to `most` consecutive sentences. The last group may be smaller."""
    start = 0
    while start < len(sentences):
        size = draws.randint(fewest, most)
        yield " ".join(sentences[start : start + size])
        start += size


def parts_of(text: str, draws: random.Random) -> Iterator[str]:
    """Random parts of a text with a few sentences each, without short parts and without the whole text."""
    sentences = sentences_of(text)
    for part in groups(sentences, 1, LONGEST_PART, draws):
        if len(part.split()) >= FEWEST_WORDS and part != " ".join(sentences):
            yield part


def mixtures(texts: Sequence[str], draws: random.Random) -> Iterator[str]:
    """The sentences of all texts with several sentences, in random order, a few at a time."""
    sentences = [sentence for text in texts if len(several := sentences_of(text)) > 1 for sentence in several]
    draws.shuffle(sentences)
    return groups(sentences, *MIXTURE, draws)

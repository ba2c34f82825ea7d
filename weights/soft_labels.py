"""Writes a corpus of reviews for a small classifier: texts with a teacher's probability of "positive".

"Distilling the Knowledge in a Neural Network" (Hinton et al. 2015): a probability teaches more than a label. The
teacher is a classifier of n-grams and labels only texts that it has not read. It also labels parts of the texts and
mixtures of their sentences, so that a student reads each sentence in several contexts.
"""

import random
import re
import shutil
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from tqdm import tqdm

from model.config.corpus import CorpusName
from model.corpora.corpora import CorpusError
from model.corpora.reviews import read_reviews, soft_label_line
from weights.ngram_classifier import NgramClassifier

__all__ = ["label_reviews"]

FOLDS = 5
NEIGHBOURS = 100  # texts that stay in one fold: IMDb mostly groups the texts of a film
TRUST = 0.7  # weight of the teacher's probability; the rest is the weight of the label
CUTS = 2  # how often each text is divided into parts, at other places each time
LONGEST_PART, FEWEST_WORDS = 7, 12  # sentences, words
MIXTURE = (3, 20)  # sentences

SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


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
    if folder.exists():
        raise CorpusError(f"{folder} exists already. Remove it to write the corpus again.")
    own = read_reviews(data_root, corpus, "train")
    others = read_reviews(data_root, more, "train") if more else []
    folds = [number // NEIGHBOURS % FOLDS for number in range(len(own))]
    lines: list[str] = []
    draws = random.Random(1)
    for fold in tqdm(range(FOLDS), unit=" folds"):
        read = [review for review, its in zip(own, folds, strict=True) if its != fold] + others
        teacher = NgramClassifier.learn([text for text, _ in read], [label for _, label in read])
        unread = [review for review, its in zip(own, folds, strict=True) if its == fold]
        for text, label in unread:
            lines.append(soft_label_line((text, TRUST * teacher.probability(text) + (1 - TRUST) * label)))
        texts = [text for text, _ in unread]
        parts = chain(*(parts_of(text, draws) for text in texts * CUTS), mixtures(texts, draws))
        lines += [soft_label_line((part, teacher.probability(part))) for part in parts]
    beside = folder.with_name(f".{folder.name}.part")
    try:
        beside.mkdir(parents=True, exist_ok=True)
        (beside / "train.tsv").write_text("".join(lines), encoding="utf-8")
        beside.rename(folder)
    except OSError as error:
        shutil.rmtree(beside, ignore_errors=True)
        raise CorpusError(f"{folder} cannot be written: {error.strerror}.") from error
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

"""A corpus of reviews for a small classifier to learn from: a text, and how sure a teacher is that it is positive.

"Distilling the Knowledge in a Neural Network" (Hinton et al. 2015): how sure says more than the label alone. The
teacher counts n-grams, and what it judges it has never read. It also judges pieces of the texts and mixtures of their
sentences, which have no label, so that a student reads each sentence beside others.
"""

import random
import re
import shutil
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from tqdm import tqdm

from model.config.run import DISTILLED
from model.corpora.corpora import CorpusError
from model.corpora.reviews import judged_line, read_reviews
from weights.ngram_classifier import NgramJudge

__all__ = ["judge"]

FOLDS = 5
NEIGHBOURS = 100  # texts that stay together: in IMDb those of one film mostly follow each other
TRUST = 0.7  # in the teacher, where there is a label too
CUTS = 2  # times that each text is cut into pieces, elsewhere each time
LONGEST_PIECE, FEWEST_WORDS = 7, 12  # sentences, words
MIXTURE = (3, 20)  # sentences

SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")


def judge(*, data_root: Path, corpus: str, more: str = "") -> Path:
    """Write the corpus `<corpus>-distilled`: training texts, pieces and mixtures, and how sure the teacher is of each.

    Args:
        data_root: Folder of the corpora.
        corpus: What is judged.
        more: Another one, or several joined by `+`, from which the teacher learns too.

    Returns:
        The new folder; it has a training split alone.

    Raises:
        CorpusError: a corpus cannot be read, is several, too small or judged already, or is to judge itself, or the new
            one is there already or cannot be written; then nothing is left behind.
    """
    folder = data_root / f"{corpus}{DISTILLED}"
    if "+" in corpus:
        raise CorpusError(f"{corpus} is several corpora; judge them one by one.")
    if DISTILLED in f"{corpus}+{more}":
        raise CorpusError(f"{corpus} or {more} is judged already; name corpora with labels.")
    if corpus in more.split("+"):
        raise CorpusError(
            f"{corpus} is what is judged; name another one with --more, for a teacher must not have read it."
        )
    if folder.exists():
        raise CorpusError(f"{folder} is there already; remove it to make it anew.")
    own = read_reviews(data_root, corpus, "train")
    others = read_reviews(data_root, more, "train") if more else []
    folds = [number // NEIGHBOURS % FOLDS for number in range(len(own))]
    lines: list[str] = []
    draws = random.Random(1)
    for fold in tqdm(range(FOLDS), unit=" folds"):
        read = [review for review, its in zip(own, folds, strict=True) if its != fold] + others
        teacher = NgramJudge.learn([text for text, _ in read], [label for _, label in read])
        unread = [review for review, its in zip(own, folds, strict=True) if its == fold]
        for text, label in unread:
            lines.append(judged_line((text, TRUST * teacher.share(text) + (1 - TRUST) * label)))
        texts = [text for text, _ in unread]
        parts = chain(*(pieces(text, draws) for text in texts * CUTS), mixtures(texts, draws))
        lines += [judged_line((part, teacher.share(part))) for part in parts]
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
    """Sentences one after the other, `fewest` to `most` of them at a time; what is left at the end may be fewer."""
    start = 0
    while start < len(sentences):
        size = draws.randint(fewest, most)
        yield " ".join(sentences[start : start + size])
        start += size


def pieces(text: str, draws: random.Random) -> Iterator[str]:
    """A text cut at random into a few sentences each; without short pieces, and none that would be the whole text."""
    sentences = sentences_of(text)
    for piece in groups(sentences, 1, LONGEST_PIECE, draws):
        if len(piece.split()) >= FEWEST_WORDS and piece != " ".join(sentences):
            yield piece


def mixtures(texts: Sequence[str], draws: random.Random) -> Iterator[str]:
    """The sentences of all texts that have several, in random order, a few at a time."""
    sentences = [sentence for text in texts if len(several := sentences_of(text)) > 1 for sentence in several]
    draws.shuffle(sentences)
    return groups(sentences, *MIXTURE, draws)

"""Reads labelled film reviews: IMDb (Maas et al. 2011), SST-2 (Socher et al. 2013) and short ones of our own.

`imdb` is two tables with a header line: label (0 negative, 1 positive), rating, file, film, text. `sst2` is two tables
of sentence and label, `short-reviews` is drawn anew each time, see `model/corpora/short_reviews.py`. No review of the
list in `tests/data/class/` is in the training part of any.
"""

import hashlib
from pathlib import Path

from model.corpora.class_list import CLASS_LISTS
from model.corpora.corpora import CorpusError, read_lines
from model.corpora.overlap import canonical
from model.corpora.short_reviews import short_reviews

__all__ = ["class_reviews", "read_reviews"]

VALIDATION_SHARE = 0.1
SHORT, SHORT_REVIEWS = "short-reviews", 30_000
LABELS = ("negative", "positive")
Reviews = list[tuple[str, int]]


def read_reviews(root: Path, corpus: str, split: str) -> Reviews:
    """Read (text, label) of one split.

    Args:
        root: Folder of the corpora.
        corpus: `imdb`, `sst2` or `short-reviews`, or several joined by `+`. Validation is on the first alone.
        split: `train`, `val` or `test`; of `sst2` there is `train` and `test`, its published development part.

    Raises:
        CorpusError: there is no such split, or its file is missing or not such a table.
    """
    names = corpus.split("+")
    if split != "train":
        return read_one(root, names[0], split)
    withheld = {canonical(text) for text, _ in class_reviews()}
    reviews = [review for name in names for review in read_one(root, name, split)]
    return [review for review in reviews if canonical(review[0]) not in withheld]


def read_one(root: Path, corpus: str, split: str) -> Reviews:
    if corpus == SHORT and split == "train":
        return list(short_reviews(SHORT_REVIEWS, seed=1))
    splits = {"sst2": ("train", "test"), SHORT: ("train",)}.get(corpus, ("train", "val", "test"))
    if split not in splits:
        raise CorpusError(f"{corpus} has no split {split!r}; it has {', '.join(splits)}.")
    return read_sst2(root, corpus, split) if corpus == "sst2" else read_imdb(root, corpus, split)


def class_reviews() -> Reviews:
    """What a class types first, with its label; never trained on."""
    rows = (line.split("\t") for line in read_lines(CLASS_LISTS / "reviews.tsv") if not line.startswith("#"))
    return [(text, LABELS.index(label)) for label, text in rows]


def table_at(folder: Path, name: str) -> Path:
    for path in (folder / f"{name}.tsv.gz", folder / f"{name}.tsv"):
        if path.is_file():
            return path
    raise CorpusError(f"There is no {name}.tsv or {name}.tsv.gz in {folder}; see the readme.")


def read_sst2(root: Path, corpus: str, split: str) -> Reviews:
    path = table_at(root / corpus, "dev" if split == "test" else split)
    rows = [line.rpartition("\t") for line in read_lines(path)]
    for number, (_, tab, label) in enumerate(rows, start=1):
        if not tab or label not in ("0", "1"):
            raise CorpusError(f"Line {number} of {path} is not a sentence, a tab and 0 or 1.")
    return [(text, int(label)) for text, _, label in rows]


def read_imdb(root: Path, corpus: str, split: str) -> Reviews:
    """No film of `val` occurs in `train`: both are parts of the training table."""
    path = table_at(root / corpus, f"imdb_{'test' if split == 'test' else 'train'}")
    reviews = []
    for number, line in enumerate(read_lines(path)[1:], start=2):
        columns = line.split("\t", 4)
        if len(columns) != 5 or columns[0] not in ("0", "1"):
            raise CorpusError(f"Line {number} of {path} is not label, rating, file, film and text.")
        label, _, _, film, text = columns
        if split == "test" or held_out(film) == (split == "val"):
            reviews.append((text.replace("<br />", "\n"), int(label)))
    return reviews


def held_out(film: str) -> bool:
    return int(hashlib.sha256(film.encode()).hexdigest()[:8], 16) < VALIDATION_SHARE * 2**32

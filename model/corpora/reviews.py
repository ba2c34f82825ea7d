"""Reads labelled film reviews: IMDb (Maas et al. 2011), SST-2 (Socher et al. 2013) and short ones of our own.

`imdb` is two tables with a header line: label (0 negative, 1 positive), rating, file, film, text. `sst2` is two tables
of sentence and label, `short-reviews` is drawn anew each time, see `model/corpora/short_reviews.py`, and
`<corpus>-distilled` is a table of text and how sure a teacher is that it is positive, see `weights/soft_labels.py`. No
review of the list in `model/corpora/class_lists/` is in the training part of any.
"""

import hashlib
import re
from pathlib import Path

from model.config.run import DISTILLED
from model.corpora.class_list import CLASS_LISTS
from model.corpora.corpora import CorpusError, read_lines
from model.corpora.overlap import canonical
from model.corpora.short_reviews import short_reviews

__all__ = ["Review", "class_reviews", "judged_line", "read_reviews"]

VALIDATION_SHARE = 0.1
SHORT, SHORT_REVIEWS = "short-reviews", 30_000
LINE_BREAK = "<br />"
LABELS = ("negative", "positive")
Review = tuple[str, float]  # a text, and 0 negative or 1 positive, or what a teacher holds between them


def read_reviews(root: Path, corpus: str, split: str) -> list[Review]:
    """Read the texts of one split with their labels.

    Args:
        root: Folder of the corpora.
        corpus: `imdb`, `sst2`, `short-reviews` or a distilled one, or several joined by `+`. Validation is on the first
            alone, or on what it was made from.
        split: `train`, `val` or `test`; of `sst2` there is `train` and `test`, its published development part.

    Raises:
        CorpusError: there is no such split, or its file is missing or not such a table.
    """
    names = corpus.split("+")
    if split != "train":
        return read_one(root, names[0].removesuffix(DISTILLED), split)
    withheld = {canonical(text) for text, _ in class_reviews()}
    reviews = [review for name in names for review in read_one(root, name, split)]
    return [review for review in reviews if canonical(review[0]) not in withheld]


def read_one(root: Path, corpus: str, split: str) -> list[Review]:
    if corpus == SHORT and split == "train":
        return list(short_reviews(SHORT_REVIEWS, seed=1))
    if corpus.endswith(DISTILLED):
        return read_judged(table_at(root / corpus, split))
    splits = {"sst2": ("train", "test"), SHORT: ("train",)}.get(corpus, ("train", "val", "test"))
    if split not in splits:
        raise CorpusError(f"{corpus} has no split {split!r}; it has {', '.join(splits)}.")
    return read_sst2(root, corpus, split) if corpus == "sst2" else read_imdb(root, corpus, split)


def class_reviews() -> list[Review]:
    """What a class types first, with its label; never trained on."""
    rows = (line.split("\t") for line in read_lines(CLASS_LISTS / "reviews.tsv") if not line.startswith("#"))
    return [(text, LABELS.index(label)) for label, text in rows]


def table_at(folder: Path, name: str) -> Path:
    for path in (folder / f"{name}.tsv.gz", folder / f"{name}.tsv"):
        if path.is_file():
            return path
    origin = folder.name.removesuffix(DISTILLED)
    remedy = "see the readme" if origin == folder.name else f"write it with: python -m weights judge --corpus {origin}"
    raise CorpusError(f"There is no {name}.tsv or {name}.tsv.gz in {folder}; {remedy}.")


def read_sst2(root: Path, corpus: str, split: str) -> list[Review]:
    path = table_at(root / corpus, "dev" if split == "test" else split)
    rows = [line.rpartition("\t") for line in read_lines(path)]
    for number, (_, tab, label) in enumerate(rows, start=1):
        if not tab or label not in ("0", "1"):
            raise CorpusError(f"Line {number} of {path} is not a sentence, a tab and 0 or 1.")
    return [(text, int(label)) for text, _, label in rows]


def judged_line(review: Review) -> str:
    """A line of a distilled corpus."""
    text = " ".join(review[0].replace("\n", LINE_BREAK).split())
    return f"{text}\t{review[1]:.3f}\n"


def read_judged(path: Path) -> list[Review]:
    rows = [line.rpartition("\t") for line in read_lines(path)]
    for number, (_, tab, share) in enumerate(rows, start=1):
        if not tab or not re.fullmatch(r"0\.\d+|1\.0+", share):
            raise CorpusError(f"Line {number} of {path} is not a text, a tab and a number from 0 to 1.")
    return [(text.replace(LINE_BREAK, "\n"), float(share)) for text, _, share in rows]


def read_imdb(root: Path, corpus: str, split: str) -> list[Review]:
    """No film of `val` occurs in `train`: both are parts of the training table."""
    path = table_at(root / corpus, f"imdb_{'test' if split == 'test' else 'train'}")
    reviews: list[Review] = []
    for number, line in enumerate(read_lines(path)[1:], start=2):
        columns = line.split("\t", 4)
        if len(columns) != 5 or columns[0] not in ("0", "1"):
            raise CorpusError(f"Line {number} of {path} is not label, rating, file, film and text.")
        label, _, _, film, text = columns
        if split == "test" or held_out(film) == (split == "val"):
            reviews.append((text.replace(LINE_BREAK, "\n"), int(label)))
    return reviews


def held_out(film: str) -> bool:
    return int(hashlib.sha256(film.encode()).hexdigest()[:8], 16) < VALIDATION_SHARE * 2**32

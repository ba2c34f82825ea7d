"""Reads labelled film reviews: IMDb (Maas et al. 2011), SST-2 (Socher et al. 2013) and our own short reviews.

- `imdb`: two tables with a header line and the columns label (0 negative, 1 positive), rating, file, film, text.
- `sst2`: two tables with the columns sentence and label.
- `short-reviews`: generated each time, see `model/corpora/short_reviews.py`.
- `<corpus>-distilled`: a table with the columns text and probability of "positive", see `weights/label.py`.

Reviews of the list in `model/corpora/class_lists/` are removed from every training part.
"""

import hashlib
import re
from pathlib import Path

from model.config.run import CorpusName
from model.corpora.class_list import CLASS_LISTS
from model.corpora.corpora import CorpusError, read_lines
from model.corpora.overlap import canonical
from model.corpora.short_reviews import short_reviews

__all__ = ["Review", "class_reviews", "read_reviews", "soft_label_line"]

VALIDATION_SHARE = 0.1
SHORT, SHORT_REVIEWS = "short-reviews", 30_000
LINE_BREAK = "<br />"
LABELS = ("negative", "positive")
Review = tuple[str, float]  # a text, and 0 for negative, 1 for positive, or a teacher's probability of "positive"


def read_reviews(root: Path, corpus: str, split: str) -> list[Review]:
    """Read the texts of one split with their labels.

    Args:
        root: Folder of the corpora.
        corpus: `imdb`, `sst2`, `short-reviews` or a distilled corpus, or several joined by `+`. Validation uses only
            the first corpus, or the corpus that it was distilled from.
        split: `train`, `val` or `test`. `sst2` has `train` and `test`, which is its published development part.

    Raises:
        CorpusError: there is no such split, or its file is missing or has another form.
    """
    corpora = CorpusName.all_in(corpus)
    if split != "train":
        return read_one(root, corpora[0].before_distilling, split)
    held_out = {canonical(text) for text, _ in class_reviews()}
    reviews = [review for one in corpora for review in read_one(root, one, split)]
    return [review for review in reviews if canonical(review[0]) not in held_out]


def read_one(root: Path, name: CorpusName, split: str) -> list[Review]:
    corpus = name.name
    if corpus == SHORT and split == "train":
        return list(short_reviews(SHORT_REVIEWS, seed=1))
    if name.is_distilled:
        return read_soft_labels(table_at(root / corpus, split))
    splits = {"sst2": ("train", "test"), SHORT: ("train",)}.get(corpus, ("train", "val", "test"))
    if split not in splits:
        raise CorpusError(
            "{corpus} has no split {split}. It has {splits}.",
            corpus=corpus,
            split=repr(split),
            splits=", ".join(splits),
        )
    return read_sst2(root, corpus, split) if corpus == "sst2" else read_imdb(root, corpus, split)


def class_reviews() -> list[Review]:
    """The reviews that a class types first, with labels. They are never trained on."""
    rows = (line.split("\t") for line in read_lines(CLASS_LISTS / "reviews.tsv") if not line.startswith("#"))
    return [(text, LABELS.index(label)) for label, text in rows]


def table_at(folder: Path, name: str) -> Path:
    for path in (folder / f"{name}.tsv.gz", folder / f"{name}.tsv"):
        if path.is_file():
            return path
    corpus = CorpusName(folder.name)
    command = f"Write it with: python -m weights label --corpus {corpus.before_distilling.name}"
    remedy = command if corpus.is_distilled else "The readme names its source."
    raise CorpusError(
        "There is no {name}.tsv or {name}.tsv.gz in {folder}. {remedy}", name=name, folder=folder, remedy=remedy
    )


def read_sst2(root: Path, corpus: str, split: str) -> list[Review]:
    path = table_at(root / corpus, "dev" if split == "test" else split)
    rows = [line.rpartition("\t") for line in read_lines(path)]
    for number, (_, tab, label) in enumerate(rows, start=1):
        if not tab or label not in ("0", "1"):
            raise CorpusError("Line {number} of {path} must be a sentence, a tab and 0 or 1.", number=number, path=path)
    return [(text, int(label)) for text, _, label in rows]


def soft_label_line(review: Review) -> str:
    """A line of a distilled corpus."""
    text = " ".join(review[0].replace("\n", LINE_BREAK).split())
    return f"{text}\t{review[1]:.3f}"


def read_soft_labels(path: Path) -> list[Review]:
    rows = [line.rpartition("\t") for line in read_lines(path)]
    for number, (_, tab, share) in enumerate(rows, start=1):
        if not tab or not re.fullmatch(r"0\.\d+|1\.0+", share):
            raise CorpusError(
                "Line {number} of {path} must be a text, a tab and a number from 0 to 1.", number=number, path=path
            )
    return [(text.replace(LINE_BREAK, "\n"), float(share)) for text, _, share in rows]


def read_imdb(root: Path, corpus: str, split: str) -> list[Review]:
    """Read one split. `val` and `train` are parts of the training table that share no film."""
    path = table_at(root / corpus, f"imdb_{'test' if split == 'test' else 'train'}")
    reviews: list[Review] = []
    for number, line in enumerate(read_lines(path)[1:], start=2):
        columns = line.split("\t", 4)
        if len(columns) != 5 or columns[0] not in ("0", "1"):
            raise CorpusError(
                "Line {number} of {path} must be label, rating, file, film and text.", number=number, path=path
            )
        label, _, _, film, text = columns
        if split == "test" or is_validation_film(film) == (split == "val"):
            reviews.append((text.replace(LINE_BREAK, "\n"), int(label)))
    return reviews


def is_validation_film(film: str) -> bool:
    return int(hashlib.sha256(film.encode()).hexdigest()[:8], 16) < VALIDATION_SHARE * 2**32

"""Reads labelled film reviews: the IMDb set of Maas et al. 2011, as two tab-separated tables.

Columns: label (0 negative, 1 positive), rating, file, film, text; a header line; no quoting.
"""

import hashlib
from pathlib import Path

from model.corpora.corpora import CorpusError, read_lines

__all__ = ["read_reviews"]

VALIDATION_SHARE = 0.1


def read_reviews(root: Path, corpus: str, split: str) -> list[tuple[str, int]]:
    """Read (text, label) of one split. No film of `val` occurs in `train`: both are parts of the training table.

    Args:
        root: Folder of the corpora.
        corpus: Name of the folder with `imdb_train.tsv.gz` and `imdb_test.tsv.gz`, packed or not.
        split: `train`, `val` or `test`.

    Raises:
        CorpusError: there is no such split, or its file is missing or not such a table.
    """
    if split not in ("train", "val", "test"):
        raise CorpusError(f"{corpus} has no split {split!r}; it has train, val and test.")
    table = "test" if split == "test" else "train"
    paths = [path for name in (f"imdb_{table}.tsv.gz", f"imdb_{table}.tsv") if (path := root / corpus / name).is_file()]
    if not paths:
        raise CorpusError(f"There is no imdb_{table}.tsv or imdb_{table}.tsv.gz in {root / corpus}; see the readme.")
    reviews = []
    for number, line in enumerate(read_lines(paths[0])[1:], start=2):
        columns = line.split("\t", 4)
        if len(columns) != 5 or columns[0] not in ("0", "1"):
            raise CorpusError(f"Line {number} of {paths[0]} is not label, rating, file, film and text.")
        label, _, _, film, text = columns
        if split == "test" or held_out(film) == (split == "val"):
            reviews.append((text.replace("<br />", "\n"), int(label)))
    return reviews


def held_out(film: str) -> bool:
    return int(hashlib.sha256(film.encode()).hexdigest()[:8], 16) < VALIDATION_SHARE * 2**32

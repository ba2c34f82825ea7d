"""Toy languages: each pair follows its rule, and the training part has no test pair."""

import random
from datetime import date, datetime
from pathlib import Path

import pytest

from model.corpora.corpora import CorpusError, read_pairs
from model.corpora.toys import TOYS, write_toy


@pytest.mark.parametrize(
    ("name", "answer"), [("reverse", "n o c a e b"), ("copy", "b e a c o n"), ("sort", "a b c e n o")]
)
def test_letters_follow_their_rule(name: str, answer: str) -> None:
    assert TOYS[name].example(8) == ("b e a c o n", answer)
    assert len(TOYS[name].example(4)[1].split()) == 4


def test_dates_in_words_are_the_dates_in_digits() -> None:
    draws = random.Random(3)
    for _ in range(200):
        said, digits = TOYS["dates"].draw(draws, 8)
        found = datetime.strptime(digits.replace(" ", ""), "%Y-%m-%d").date()
        assert date(1910, 1, 1) <= found < date(2000, 1, 1)
        _, day, _, month, *year = said.split() if said.split()[1] != "twenty" else drop(said)
        assert month == found.strftime("%B")
        assert year[0] == "nineteen"
        assert (day in ("first", "twenty first")) == (found.day in (1, 21))


def drop(said: str) -> list[str]:
    """The words with "twenty first" as one."""
    the, tens, ones, *rest = said.split()
    return [the, f"{tens} {ones}", *rest]


@pytest.mark.parametrize("name", TOYS)
def test_training_and_validation_pairs_differ(name: str, tmp_path: Path) -> None:
    write_toy(tmp_path, name, longest=6)
    toy = TOYS[name]
    train, val = (read_pairs(tmp_path, name, split, toy.source, toy.target) for split in ("train", "val"))
    assert len(val) == 200
    assert len(train) > 5_000
    assert not {source for source, _ in train} & {source for source, _ in val}


def test_an_impossible_toy_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="no toy language 'shuffle'"):
        write_toy(tmp_path, "shuffle")
    with pytest.raises(CorpusError, match="It must be from 4 to 12"):
        write_toy(tmp_path, "copy", longest=99)
    assert not list(tmp_path.iterdir())

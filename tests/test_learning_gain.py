"""The gain of a class equals the one computed by hand. A file that is no table of answers ends in a sentence."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import learning_gain
from benchmarks.learning_gain import TableError, correction, effect_size, normalized_gain, paired, read_tables, totals
from viz_app.content.catalogues import ENGLISH
from viz_app.course.quiz import questions
from viz_app.sections.course.lessons_page import quiz_csv

NAMES = [one.name for one in questions(ENGLISH)]
RIGHT = {one.name: one.right for one in questions(ENGLISH)}


def first(n: int) -> dict[str, str]:
    """A student who knows the first n answers."""
    return {name: RIGHT[name] for name in NAMES[:n]}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Three students with 3, 6, 6 right answers before and 6, 9, 12 after; one student without a second round."""
    path = tmp_path / "class.csv"
    students = {"aaaa0001": (3, 6), "aaaa0002": (6, 9), "aaaa0003": (6, 12)}
    answered = {name: {"before": first(b), "after": first(a)} for name, (b, a) in students.items()}
    path.write_bytes(quiz_csv({**answered, "aaaa0004": {"before": first(1)}}))
    return path


def test_the_gain_of_a_class_is_the_one_computed_by_hand(table: Path) -> None:
    rounds = paired(read_tables([table, table]))  # the same table twice counts once
    assert rounds.alone == 1
    figures = totals(rounds, seed=0)
    assert figures["before"].value == pytest.approx(15 / 36)
    assert figures["after"].value == pytest.approx(27 / 36)
    assert figures["normalized gain"].value == pytest.approx((27 - 15) / (36 - 15))
    # differences 3, 3, 6 of 12: mean 4, standard deviation √3
    assert figures["d_z"].value == pytest.approx(4 / np.sqrt(3))
    assert figures["g_z"].value == pytest.approx(4 / np.sqrt(3) / np.sqrt(np.pi))  # J for 3 pairs is 1/√π
    assert figures["gain"].low == pytest.approx(3 / 12)
    assert figures["gain"].high == pytest.approx(6 / 12)
    shares = learning_gain.by_question(rounds)
    assert shares.loc[NAMES[4], ["before", "after", "learned"]].tolist() == pytest.approx([2 / 3, 1, 1])
    assert np.isnan(shares.loc[NAMES[0], "normalized"]), "everybody knew it before"


def test_hedges_correction_is_near_its_approximation_and_one_for_large_classes() -> None:
    assert correction(20) == pytest.approx(1 - 3 / (4 * 19 - 1), abs=1e-3)
    assert correction(10_000) == pytest.approx(1, abs=1e-4)


def test_equal_differences_have_no_effect_size_and_nothing_to_gain_has_no_normalized_gain() -> None:
    assert np.isnan(effect_size(np.full(7, 0.1)))
    assert np.isnan(normalized_gain(np.array(1.0), np.array(1.0)))


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "is no table"),
        ("\xff\xfe\x00", "is no table"),
        ("id,round\na,before\n", "has no column question, answer"),
        ("id,round,question,answer\na,during,order,same\n", "line 2: the round is “during”"),
        ("id,round,question,answer\na,before,colour,same\n", "there is no question “colour”"),
        ("id,round,question,answer\na,before,order,never\n", "has no option “never”"),
        ("id,round,question,answer\n,before,order,same\n", "the id is missing"),
        ("id,round,question,answer\na,before,order,same\na,before,order,swapped\n", "two answers of a to “order”"),
    ],
)
def test_a_file_that_is_no_table_of_answers_ends_in_a_sentence(tmp_path: Path, text: str, sentence: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(text.encode("latin-1" if text.startswith("\xff") else "utf-8"))
    with pytest.raises(TableError, match=re.escape(sentence)):
        read_tables([path])


def test_the_script_prints_the_figures_or_says_what_is_missing(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["learning_gain.py", str(table)])
    learning_gain.main()
    printed = capsys.readouterr().out
    assert "Students with both rounds: 3. With one round only, not counted: 1." in printed
    assert re.search(r"d_z +2\.31  \[", printed)
    for name, sentence in {
        "none.csv": "cannot be read: No such file",
        "few.csv": "Students with both rounds: 1.",
    }.items():
        if name == "few.csv":
            (tmp_path / name).write_bytes(quiz_csv({"aaaa0001": {"before": first(2), "after": first(3)}}))
        monkeypatch.setattr(sys, "argv", ["learning_gain.py", str(tmp_path / name)])
        with pytest.raises(SystemExit):
            learning_gain.main()
        assert sentence in capsys.readouterr().err

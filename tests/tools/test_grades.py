"""The grades of analyses on planted models: they come out again, and what is wrong by design stays wrong."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from tools.planted import MODELS
from tools.planted.edge_grades import edges_of_truth
from tools.planted.grades import ANALYSES, FINDS, grades_of, words_that_matter
from tools.planted.grades_page import PAGE, page_with
from tools.planted.subject import Subject, auroc, words_of
from viz_app.content.grades import GRADES


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Subject]:
    return cache(lambda name: Subject.of(name, tmp_path_factory.mktemp("graded") / name))


@pytest.mark.parametrize("name", ["idle-head", "saturated", "backup"])
def test_the_grades_come_out_again(name: str, subject: Callable[[str], Subject]) -> None:
    """Edges are a ranking of numbers near 0, which another processor rounds differently."""
    expected = {analysis: grade.models[name] for analysis, grade in GRADES.items() if name in grade.models}
    found = grades_of(subject(name))
    assert found.keys() == expected.keys()
    for analysis, grade in found.items():
        assert grade == pytest.approx(expected[analysis], abs=0.05 if analysis == "circuit-edges" else 0.011), analysis


def test_each_analysis_has_a_grade_for_the_models_that_have_it() -> None:
    assert GRADES.keys() == ANALYSES.keys()
    assert all(grade.least == FINDS and grade.models.keys() <= MODELS.keys() for grade in GRADES.values())
    assert [name for name, grade in GRADES.items() if grade.models.keys() != MODELS.keys()] == [
        "value-zeroing",
        "deletion",
        "alignment",
    ]


@pytest.mark.parametrize(
    ("analysis", "model"),
    [
        ("weights", "idle-head"),  # they look sharply where the values are 0
        ("gradient", "saturated"),  # a small change changes nothing
        ("importance", "backup"),  # a second head does the work
        ("patching", "reverse"),  # the length is the same in both texts
        ("contributions", "both-heads"),  # the feed-forward network writes to the logits
        ("roles", "duplicate"),  # it rests at the beginning
        ("alignment", "cancelled"),  # it looks at the right word and writes a wrong one
        ("value-zeroing", "duplicate"),  # the word is a query
    ],
)
def test_an_analysis_that_is_wrong_by_design_misses_its_model(analysis: str, model: str) -> None:
    assert model in GRADES[analysis].missed
    assert 1 <= len(GRADES[analysis].missed) < len(GRADES[analysis].models) / 2


@pytest.mark.parametrize(
    ("analysis", "model"),
    [("value-norms", "idle-head"), ("importance", "saturated"), ("search", "backup"), ("rollout", "duplicate")],
)
def test_another_analysis_finds_what_one_misses(analysis: str, model: str) -> None:
    assert GRADES[analysis].models[model] >= FINDS


def test_circuits_rank_the_edges_that_differ_first_in_every_model() -> None:
    assert not GRADES["circuit-edges"].missed


def test_the_page_has_the_grades() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page_with(GRADES, page) == page, "run: python -m tools.planted.grades_page"


def test_equal_scores_count_half() -> None:
    scores, matter = np.array([3.0, 1.0, 1.0, 0.0]), np.array([True, True, False, False])
    assert auroc(scores, matter) == 3.5 / 4
    assert auroc(scores, matter, least=1.0) == 3 / 4


def test_the_words_that_matter_are_those_of_the_task(subject: Callable[[str], Subject]) -> None:
    """For a model that writes the word before the last word, by trying each word; and for one that looks for gold."""
    for run in subject("idle-head").runs:
        (row,) = words_that_matter(subject("idle-head"), run)
        assert np.flatnonzero(row).tolist() == [len(words_of(run)) - 2]
    for run in subject("saturated").runs:
        (row,) = words_that_matter(subject("saturated"), run)
        assert row.tolist() == [word == "gold" for word in words_of(run)]


def test_edges_that_carry_the_same_in_both_texts_are_left_out(subject: Callable[[str], Subject]) -> None:
    differing, every = edges_of_truth(subject("idle-head"))
    assert every - differing == {("decoder.input", "decoder.0.1", side) for side in ("query", "key")}, "positions"
    differing, every = edges_of_truth(subject("backup"))
    unseen = ("decoder.0.1", "decoder.1.2", "query")
    assert unseen in every - differing, "the first head writes “done” for every word"
    assert ("decoder.1.2", "output", "") in differing

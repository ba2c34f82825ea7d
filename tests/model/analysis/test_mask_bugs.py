import numpy as np
import pytest

from model.analysis.mask_bugs import BUGS, BugReport, bug_weights, mask_bug
from model.checkpoint import Checkpoint
from model.inference.translate import translate

TEXTS = ("the dog runs .", "the small dog sees a red house .")


@pytest.fixture
def correct(toy: Checkpoint) -> BugReport:
    return mask_bug(toy, TEXTS)


def test_right_masks_leak_nothing_and_write_what_the_model_writes(toy: Checkpoint, correct: BugReport) -> None:
    assert correct.texts == tuple(translate(toy, text).text for text in TEXTS)
    for kind in ("encoder", "decoder", "cross"):
        assert correct.leaked[kind].max() == 0
        np.testing.assert_allclose(correct.row_sums[kind], 1, atol=1e-5)
    assert correct.future.max() == 0
    assert correct.company.max() < 1e-4


# Bug → does it put weight on forbidden keys of (encoder, decoder, cross), does the future matter, does company matter?
EXPECTED = {
    "fill": ((True, True, True), True, True),
    "inverted": ((False, True, False), True, False),
    "after": ((False, False, False), True, True),
    "padding": ((True, False, True), False, True),
    "queries": ((True, False, True), False, True),
}


@pytest.mark.parametrize("name", BUGS)
def test_each_mistake_does_what_its_explanation_says(toy: Checkpoint, name: str) -> None:
    report = mask_bug(toy, TEXTS, name)
    leaks, future, company = EXPECTED[name]
    # The first sentence is the shorter one and so has padding.
    assert tuple(bool(report.leaked[kind][0] > 1e-3) for kind in ("encoder", "decoder", "cross")) == leaks
    assert bool(report.future.max() > 1e-3) == future
    assert bool(report.company[0] > 1e-3) == company
    sums = report.row_sums["decoder"]
    if name == "after":
        assert sums.min() < 0.9
    else:
        np.testing.assert_allclose(sums, 1, atol=1e-4)


def test_a_tiny_fill_is_as_good_as_a_score_of_zero(toy: Checkpoint) -> None:
    first = bug_weights(toy, TEXTS, "fill", "decoder", 0)[0, 0, 0]  # the first query may see one key
    assert first[0] < 1
    np.testing.assert_allclose(first[1:], first[1], rtol=1e-5)


def test_a_mistake_leaves_the_model_as_it_was(toy: Checkpoint) -> None:
    before = bug_weights(toy, TEXTS, "", "cross", 0)
    for name in BUGS:
        mask_bug(toy, TEXTS, name)
        assert not np.allclose(bug_weights(toy, TEXTS, name, "decoder", 0), bug_weights(toy, TEXTS, "", "decoder", 0))
    np.testing.assert_allclose(bug_weights(toy, TEXTS, "", "cross", 0), before, atol=1e-6)


def test_one_empty_text_is_no_problem(toy: Checkpoint) -> None:
    for name in ("", *BUGS):
        assert len(mask_bug(toy, ("",), name).texts) == 1

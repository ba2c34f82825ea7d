"""Lesson 2 on the bundled checkpoints: each claim with a margin, and each puzzle with answers of both kinds."""

import itertools

import numpy as np
import pytest

from tests.conftest import BUNDLED
from tests.viz_app.course.lesson_runs import answered, outcomes, situation_of, step_of
from tools.lesson_figures import SENTENCES, weights_hash
from viz_app.course.catalogue import figures, lesson_named
from viz_app.course.lesson import Verdict
from viz_app.course.quantities import entropies, row

LESSON = lesson_named("query-key-value")

TOKENS = ["The", "old", "man", "reads", "a", "book", ".", "</s>"]


def right_options(name: str) -> set[str]:
    return {option for option, verdict in outcomes(LESSON, name).items() if verdict.right}


def row_verdict(puzzle: str, kind: str, layer: int, head: int, query: int) -> Verdict:
    return answered(LESSON, puzzle, kind=kind, layer=str(layer), head=str(head), query=str(query))


def test_a_row_sums_to_one() -> None:
    assert right_options("row") == {"one"}
    assert float(answered(LESSON, "row", "one").values["total"]) == pytest.approx(1, abs=1e-4)


def test_book_is_the_best_key_for_buch() -> None:
    step = step_of(LESSON, "best-key")
    found = row(situation_of(step))
    assert found["place"]["query"] == "Buch"
    assert found["keys"] == TOKENS
    verdicts = [answered(LESSON, "best-key", float(index)) for index in range(len(TOKENS))]
    assert [TOKENS[i] for i, verdict in enumerate(verdicts) if verdict.right] == ["book"]
    values = verdicts[0].values
    assert float(values["product"]) - float(values["second_product"]) > 5
    assert 30 < float(values["product"]) < 38, "the text of the next step says about 34"


def test_the_model_divides_by_the_root_of_its_width() -> None:
    verdict = answered(LESSON, "divide", 5.7)
    assert verdict.right
    assert float(verdict.values["root"]) == pytest.approx(32**0.5, abs=1e-4)
    assert [answered(LESSON, "divide", number).outcome for number in (2.0, 8.0, 32.0)] == [
        "too-low",
        "too-high",
        "width",
    ]


def test_a_score_that_is_larger_by_one_has_e_times_the_weight() -> None:
    verdict = answered(LESSON, "softmax", 2.7)
    assert verdict.right
    values = verdict.values
    assert float(values["ratio"]) == pytest.approx(np.exp(float(values["gap"])), rel=1e-3)
    assert [answered(LESSON, "softmax", number).outcome for number in (1.5, 5.0)] == ["too-low", "too-high"]


def test_rows_are_sharper_without_the_division() -> None:
    assert right_options("no-division") == {"sharper"}
    values = answered(LESSON, "no-division", "sharper").values
    assert float(values["divided"]) - float(values["undivided"]) > 0.5


def test_the_measured_figures_are_those_of_the_bundled_weights() -> None:
    assert figures()["weights"]["everyday-en-de"] == weights_hash(BUNDLED / "everyday-en-de")
    measured = figures()["figures"]["query-key-value"]
    assert measured["sentences"] == len(SENTENCES)
    sample = [entropies(situation_of(step_of(LESSON, "row"), text=sentence)) for sentence in SENTENCES[:1]]
    divided, undivided = np.mean(sample, axis=0)
    assert divided == pytest.approx(measured["divided_all"], abs=0.3)
    assert undivided == pytest.approx(measured["undivided_all"], abs=0.1)


def test_the_value_of_book_is_nearest_to_the_head_output() -> None:
    verdicts = [answered(LESSON, "weighted-sum", float(index)) for index in range(len(TOKENS))]
    assert [TOKENS[i] for i, verdict in enumerate(verdicts) if verdict.right] == ["book"]
    cosines = sorted(float(verdict.values["answer_cosine"]) for verdict in verdicts)
    assert cosines[-1] > 0.95
    assert cosines[-1] - cosines[-2] > 0.2


def test_the_end_of_the_sentence_has_the_largest_weight_and_adds_less() -> None:
    assert right_options("small-value") == {"no"}
    values = answered(LESSON, "small-value", "no").values
    assert (values["heavy"], values["long"]) == ("</s>", "old")
    assert float(values["heavy_weight"]) - float(values["long_weight"]) > 0.2
    assert float(values["long_added"]) - float(values["heavy_added"]) > 0.4
    assert answered(LESSON, "small-value", "yes", layer="3", head="3", query="5").right, "another row"


def test_many_rows_solve_the_first_puzzle() -> None:
    step = step_of(LESSON, "puzzle-certain")
    maps = situation_of(step).translation.maps
    certain = {
        (kind, layer + 1, head + 1, query)
        for kind, weights in maps.items()
        for layer, head, query in np.argwhere(weights.max(axis=-1) > 0.993).tolist()
        if kind != "decoder" or query > 0
    }
    assert len(certain) > 20
    assert ("cross", 3, 7, 3) in certain, "the row of the hint"
    for place in sorted(certain)[::10]:
        assert row_verdict("puzzle-certain", *place).right


def test_the_first_puzzle_says_what_a_row_did() -> None:
    assert answered(LESSON, "puzzle-certain").outcome == "spread", "as the step opens"
    assert row_verdict("puzzle-certain", "decoder", 1, 1, 0).outcome == "only"


def test_one_temperature_solves_the_second_puzzle() -> None:
    found = {
        f"{tenth / 10:g}": answered(LESSON, "puzzle-temperature", head_temperature=f"{tenth / 10:g}").outcome
        for tenth in (1, 2, 3, 10, 50)
    }
    assert found == {"0.1": "sharp", "0.2": "right", "0.3": "flat", "1": "flat", "5": "flat"}


def test_the_second_puzzle_says_what_the_visitor_did() -> None:
    assert answered(LESSON, "puzzle-temperature").outcome == "flat", "as the step opens"
    assert answered(LESSON, "puzzle-temperature", scaled="false").outcome == "switched-off"
    assert answered(LESSON, "puzzle-temperature", layer="3", head="3").outcome == "no-spread"


def test_rows_with_a_masked_best_key_solve_the_third_puzzle() -> None:
    rows = itertools.product((1, 2, 3), range(1, 9), range(8))
    found = {row: row_verdict("puzzle-masked", "decoder", *row).outcome for row in rows}
    right = [row for row, outcome in found.items() if outcome == "right"]
    assert len(right) >= 8
    assert (1, 3, 3) in right, "the row of the hint"
    assert {*found.values()} == {"right", "little", "behind", "nothing-masked"}
    assert float(row_verdict("puzzle-masked", "decoder", 1, 3, 3).values["ahead"]) > 40


def test_the_third_puzzle_says_what_a_row_did() -> None:
    assert answered(LESSON, "puzzle-masked").outcome in ("behind", "little"), "as the step opens"
    assert row_verdict("puzzle-masked", "cross", 1, 1, 0).outcome == "nothing-masked"

"""Lesson 5 on the bundled checkpoints: each claim with a margin, and each puzzle with answers of both kinds."""

import pytest

from model.inference.run import Run
from model.interventions import Intervention
from tests.viz_app.course.lesson_runs import answered, margin, outcomes, situation_of, step_of
from viz_app.course.catalogue import lesson_named
from viz_app.services.models import result_of

LESSON = lesson_named("positions")

ROUNDING = 1e-4  # between processors


def blind_margin(name: str, **changed: str) -> float:
    found = situation_of(step_of(LESSON, name), **changed)
    return margin(result_of(found.key, Run(text=found.text, changes=Intervention(positions=False))))


def test_two_orders_are_one_without_positions() -> None:
    found = outcomes(LESSON, "two-orders")
    assert [name for name, verdict in found.items() if verdict.right] == ["equal"]
    values = found["equal"].values
    assert values["blind"] == values["blind_other"]
    assert len({values["first"], values["other"], values["blind"]}) == 3
    assert margin(situation_of(step_of(LESSON, "two-orders")).usual) > 0.5


def test_the_cat_stays_black_and_the_dog_does_not_run() -> None:
    assert {name for name, verdict in outcomes(LESSON, "black-cat").items() if verdict.right} == {"stays"}
    assert blind_margin("black-cat") > 0.3
    assert answered(LESSON, "black-cat", "changes", text="She is my sister.").right


def test_few_of_ten_sentences_keep_their_translation() -> None:
    verdict = answered(LESSON, "ten-sentences", 1.0)
    assert verdict.right
    assert verdict.values["all"] == 10
    assert int(verdict.values["count"]) <= 2
    assert answered(LESSON, "ten-sentences", 10.0).outcome == "too-high"
    assert answered(LESSON, "ten-sentences", -1.0).outcome == "too-low"


def test_the_first_wave_starts_again_after_two_pi() -> None:
    verdict = answered(LESSON, "full-turn", 6.3)
    assert verdict.right
    assert verdict.values["first"] == pytest.approx(6.28, abs=0.01)
    assert int(verdict.values["last"]) > 50_000
    assert answered(LESSON, "full-turn", 2.0).outcome == "too-low"
    assert answered(LESSON, "full-turn", 10.0).outcome == "too-high"


def test_the_next_position_is_the_most_similar() -> None:
    found = outcomes(LESSON, "nearest")
    assert [name for name, verdict in found.items() if verdict.right] == ["next"]
    values = found["next"].values
    assert float(values["next"]) - float(values["wave"]) > 0.1
    assert float(values["wave"]) - float(values["double"]) > 0.03


def test_one_matrix_moves_every_position() -> None:
    found = outcomes(LESSON, "one-matrix")
    assert [name for name, verdict in found.items() if verdict.right] == ["same"]
    assert float(found["same"].values["error"]) < 1e-5
    assert answered(LESSON, "one-matrix", "another", checkpoint="multi30k-de-en-words").right


def test_a_learned_table_lacks_two_properties() -> None:
    found = outcomes(LESSON, "learned")
    assert {name for name, verdict in found.items() if verdict.right} == {"consistent", "extends"}
    values = found["extends"].values
    assert float(values["apart"]) > 1
    assert float(values["largest"]) < 0.9
    assert float(values["spread"]) > 1
    assert values["last"] == 99


def test_the_first_rotary_head_prefers_the_token_before() -> None:
    found = outcomes(LESSON, "rotary")
    assert [name for name, verdict in found.items() if verdict.right] == ["previous"]
    values = found["previous"].values
    assert float(values["before"]) > 2
    assert float(values["after"]) < -5


CHANGES = ["The dog bites the man.", "The girl loves the boy.", "She reads a book.", "Yes."]
SURVIVES = [
    "The cat is black.",
    "Where is the station?",
    "The door is open.",
    "The sun is shining.",
    "Where is he now?",
]
TWINS = ["You love me.", "You me love.", "You, I love."]


@pytest.mark.parametrize("text", CHANGES)
def test_a_sentence_that_changes_solves_the_first_puzzle(text: str) -> None:
    assert answered(LESSON, "puzzle-changes", text=text).right


def test_the_first_puzzle_says_what_a_sentence_did() -> None:
    assert answered(LESSON, "puzzle-changes").outcome == "unchanged", "as the step opens"
    assert blind_margin("puzzle-changes") > 0.3


def test_sentences_that_survive_solve_the_second_puzzle() -> None:
    found = [answered(LESSON, "puzzle-keeps", text=text) for text in SURVIVES]
    assert [verdict.outcome for verdict in found] == ["right"] * 5
    assert blind_margin("puzzle-keeps", text=SURVIVES[0]) > 0.3


def test_the_second_puzzle_says_what_a_sentence_did() -> None:
    assert answered(LESSON, "puzzle-keeps").outcome == "changed", "as the step opens"
    assert answered(LESSON, "puzzle-keeps", text="A dog.").values.items() >= {"count": 2, "least": 4}.items()
    assert answered(LESSON, "puzzle-keeps", text="I am I am I am I am.").outcome == "short"


@pytest.mark.parametrize("text", TWINS)
def test_a_twin_solves_the_third_puzzle(text: str) -> None:
    assert answered(LESSON, "puzzle-twin", text=text).right
    assert blind_margin("puzzle-twin", text=text) > 0.1


def test_the_third_puzzle_says_what_a_sentence_did() -> None:
    assert answered(LESSON, "puzzle-twin").outcome == "seen-equal", "as the step opens"
    assert answered(LESSON, "puzzle-twin", text="You love him.").outcome == "blind-differs"

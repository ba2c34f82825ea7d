"""Lesson 3 on the bundled checkpoints: each claim with a margin, and each puzzle with answers of both kinds."""

import math

import pytest

from model.checkpoints.checkpoint import load_checkpoint
from model.interventions import Intervention
from tests.conftest import BUNDLED
from tests.viz_app.course.lesson_runs import (
    answered,
    log_margin,
    margin,
    outcomes,
    situation_of,
    step_of,
)
from tools.lesson_figures import SENTENCES, changes_of_heads
from viz_app.course.catalogue import figures, lesson_named

LESSON = lesson_named("many-heads")

GARDEN = step_of(LESSON, "other-sentence").choices["text"]


def right_options(name: str) -> set[str]:
    return {option for option, verdict in outcomes(LESSON, name).items() if verdict.right}


def margin_of(name: str, intervention: str = "") -> float:
    step = step_of(LESSON, name)
    changed = {"intervention": intervention} if intervention else {}
    return margin(situation_of(step, **changed).translation)


def test_the_heads_of_the_first_layer_look_at_different_tokens() -> None:
    verdict = answered(LESSON, "different-keys", 5.0)
    assert verdict.right
    first, last = (int(verdict.values[name]) for name in ("first", "last"))
    assert first >= 4
    assert last == 1
    assert verdict.values["top"] == "mother"
    assert [answered(LESSON, "different-keys", number).outcome for number in (1.0, 8.0)] == ["too-low", "too-high"]


def test_a_single_head_rarely_changes_a_translation() -> None:
    verdict = answered(LESSON, "one-head", 2.0)
    assert verdict.right
    assert (verdict.values["count"], verdict.values["total"]) == (1, 72)
    assert verdict.values["usual"] != verdict.values["example"]
    assert answered(LESSON, "one-head", 30.0).outcome == "too-high"
    assert answered(LESSON, "one-head", -5.0).outcome == "too-low"


def test_without_one_head_the_mother_gets_lost() -> None:
    assert right_options("what-is-lost") == {"mother"}
    assert margin_of("what-is-lost") > 0.2
    run = situation_of(step_of(LESSON, "what-is-lost")).usual
    words, source = [token.text for token in run.written], [token.text for token in run.source]
    row = run.maps["cross"][0, 2, words.index("Mutter")]
    assert source[int(row.argmax())] == "my", "as the text of the step says"
    assert float(row.max()) > 0.9


def test_another_sentence_does_not_need_this_head() -> None:
    assert right_options("other-sentence") == {"same"}
    assert margin_of("other-sentence") > 0.3
    verdict = answered(LESSON, "other-sentence", "changed", text="My father is cooking and my mother is reading.")
    assert verdict.values["usual"] != "", "the visitor's own sentence"


def test_the_last_layer_is_needed_most() -> None:
    assert right_options("which-layer") == {"third"}
    values = answered(LESSON, "which-layer", "third").values
    first, second, third = (float(values[name]) for name in ("first", "second", "third"))
    assert third - max(first, second) > 4
    assert first > 1
    assert str(values["text"]).startswith("Ein Mann")


def test_the_measured_changes_hold_for_a_sample() -> None:
    measured = figures()["figures"]["many-heads"]
    assert measured["runs"] == 24 * len(SENTENCES) == 480
    assert measured["changed_layer_3"] == len(SENTENCES)
    assert measured["changed_runs"] / measured["runs"] < 0.15
    alone, layers = changes_of_heads(load_checkpoint(BUNDLED / "everyday-en-de"), SENTENCES[0])
    assert alone <= 6
    assert layers[2]


def test_not_survives_without_the_last_layer() -> None:
    assert right_options("not-survives") == {"stays"}
    verdict = answered(LESSON, "not-survives", "stays")
    assert verdict.values["usual"] != verdict.values["changed"]


def test_two_heads_change_a_sentence_only_together() -> None:
    assert right_options("together") == {"together"}
    step = step_of(LESSON, "together")
    runs = [situation_of(step, intervention=f"off.cross.2.{heads}").translation for heads in ("5", "7", "5-7")]
    assert min(map(log_margin, [situation_of(step).usual, *runs])) > 1
    values = outcomes(LESSON, "together")["together"].values
    assert "mein Bruder" in str(values["usual"])
    assert "Bruder" not in str(values["together"])
    assert answered(LESSON, "together", "nothing", intervention="off.cross.1.3").right


def test_another_sentence_needs_neither_of_the_two_heads() -> None:
    assert answered(LESSON, "together", "nothing", text=GARDEN).right, "as the teacher reads"
    assert log_margin(situation_of(step_of(LESSON, "together"), text=GARDEN).translation) > 1


PAIRS = {
    "off.cross.3.1-2": 0.1,
    "off.cross.3.1-3": 0.1,
    "off.cross.3.1-5": 0.02,
    "off.cross.3.1-8": 0.02,
    "off.cross.2.6~off.cross.3.1": 0.02,
}


@pytest.mark.parametrize(("intervention", "least"), PAIRS.items())
def test_pairs_of_heads_solve_the_first_puzzle(intervention: str, least: float) -> None:
    assert answered(LESSON, "puzzle-two-heads", intervention=intervention).right
    assert margin_of("puzzle-two-heads", intervention) > least


@pytest.mark.parametrize(
    ("intervention", "outcome"),
    [
        ("", "none"),
        ("off.cross.3.1", "unchanged"),
        ("off.decoder.1.1-2", "unchanged"),
        ("off.cross.3.1-2-3", "too-many"),
        ("off.cross.3.1-2~nopositions", "other-change"),
    ],
)
def test_the_first_puzzle_says_what_the_heads_did(intervention: str, outcome: str) -> None:
    assert answered(LESSON, "puzzle-two-heads", intervention=intervention).outcome == outcome


def test_no_single_head_solves_the_first_puzzle() -> None:
    assert (
        answered(LESSON, "one-head", 1.0, text=step_of(LESSON, "puzzle-two-heads").choices["text"]).values["count"] == 0
    )
    measured = figures()["figures"]["many-heads"]
    assert (measured["pairs"], measured["solving"]) == (math.comb(72, 2), 8)


def test_the_first_puzzle_wants_its_sentence() -> None:
    assert answered(LESSON, "puzzle-two-heads", text="I am tired.").outcome == "no-word"


def test_two_heads_look_one_token_back() -> None:
    found = {
        (kind, layer, head): answered(LESSON, "puzzle-one-back", kind=kind, layer=str(layer), head=str(head))
        for kind in ("encoder", "decoder")
        for layer in (1, 2, 3)
        for head in range(1, 9)
    }
    assert {place for place, verdict in found.items() if verdict.right} == {("encoder", 1, 2), ("encoder", 2, 7)}
    assert float(found["encoder", 2, 7].values["previous"]) > 0.85
    assert float(found["encoder", 1, 2].values["previous"]) > 0.54
    others = [float(verdict.values["previous"]) for verdict in found.values() if not verdict.right]
    assert max(others) < 0.48
    assert {verdict.outcome for verdict in found.values()} >= {"right", "next", "spread", "same"}


def test_the_second_puzzle_says_what_is_shown() -> None:
    assert not answered(LESSON, "puzzle-one-back").right, "as the step opens"
    assert answered(LESSON, "puzzle-one-back", kind="cross").outcome == "cross"
    assert answered(LESSON, "puzzle-one-back", head="mean").outcome == "no-head"


ROWS = {"encoder": 1, "decoder": 2}
EIGHT = "1-2-3-4-5-6-7-8"
THIRD = "~".join(f"off.{kind}.{layer}.{EIGHT}" for kind, layers in ROWS.items() for layer in range(1, layers + 1))


def test_a_third_of_the_heads_solves_the_third_puzzle() -> None:
    verdict = answered(LESSON, "puzzle-not-needed", intervention=THIRD)
    assert verdict.right
    assert (verdict.values["count"], verdict.values["total"]) == (24, 72)
    assert len(Intervention.from_code(THIRD).ablated) == 24
    assert margin_of("puzzle-not-needed", THIRD) > 0.02


def test_the_third_puzzle_says_what_the_heads_did() -> None:
    assert answered(LESSON, "puzzle-not-needed").outcome == "few", "as the step opens"
    assert answered(LESSON, "puzzle-not-needed", intervention=f"off.cross.3.{EIGHT}").outcome == "changed"
    assert answered(LESSON, "puzzle-not-needed", text="I am tired.").outcome == "short"

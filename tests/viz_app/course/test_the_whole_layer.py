"""Lesson 6 on the bundled checkpoints: each claim with a margin, and each puzzle with answers of both kinds."""

import pytest

from tests.viz_app.course.lesson_runs import answered, outcomes
from viz_app.course.catalogue import lesson_named

LESSON = lesson_named("the-whole-layer")


def right_options(name: str) -> list[str]:
    return [option for option, verdict in outcomes(LESSON, name).items() if verdict.right]


def test_the_last_layer_of_the_encoder_adds_little() -> None:
    assert right_options("old-or-new") == ["old"]
    values = answered(LESSON, "old-or-new", "old").values
    assert values["token"] == "cat"
    assert float(values["old"]) > 4 * float(values["added"]) > 8 * float(values["forward"])


def test_another_layer_adds_more() -> None:
    """The teacher's page names it: in layer 1 of the decoder, the feed-forward adds more than was there."""
    verdict = answered(LESSON, "old-or-new", "old", stack="decoder", station_layer="1")
    assert float(verdict.values["forward"]) > 2 * float(verdict.values["old"])


def test_a_sum_twice_as_large_has_the_same_norm() -> None:
    assert right_options("twice-as-large") == ["same"]
    values = answered(LESSON, "twice-as-large", "same").values
    assert float(values["doubled"]) == pytest.approx(2 * float(values["spread"]), abs=0.02)
    assert float(values["difference"]) < 1e-4


def test_few_units_of_the_feed_forward_work() -> None:
    verdict = answered(LESSON, "working-units", 25.0)
    assert verdict.right
    assert verdict.values["units"] == 512
    assert 10 < int(verdict.values["count"]) < 40
    assert answered(LESSON, "working-units", 256.0).outcome == "too-high"
    assert answered(LESSON, "working-units", -30.0).outcome == "too-low"


def test_the_first_row_repeats_what_was_read() -> None:
    assert right_options("first-row") == ["read"]
    values = answered(LESSON, "first-row", "read").values
    assert (values["read"], values["written"], values["all"]) == (6, 0, 6)


def test_the_last_layer_decides() -> None:
    assert right_options("last-layer") == ["low"]
    values = answered(LESSON, "last-layer", "low").values
    assert float(values["largest"]) < 0.12
    assert float(values["final"]) > 0.85


def test_two_layers_of_the_encoder_are_enough() -> None:
    assert [answered(LESSON, "early-encoder", float(n)).outcome for n in range(4)] == [
        *("too-low", "too-low", "right", "too-high")
    ]
    assert answered(LESSON, "early-encoder", 1.0, text="Where is the station?").right


def test_cross_attention_says_dog_and_the_feed_forward_ends() -> None:
    assert right_options("who-says-dog") == ["cross"]
    dog = answered(LESSON, "who-says-dog", "cross").values
    assert (dog["word"], dog["rival"]) == ("Hund", "Mann")
    assert float(dog["cross"]) > 5 * max(float(dog["decoder"]), float(dog["forward"]))
    assert right_options("who-ends") == ["forward"]
    end = answered(LESSON, "who-ends", "forward").values
    assert end["word"] == "</s>"
    assert float(end["forward"]) > 3 * max(float(end["decoder"]), float(end["cross"]))


def test_a_word_of_meaning_may_come_from_the_feed_forwards() -> None:
    """The teacher's page names a sentence where the claim about "Hund" fails."""
    verdict = answered(LESSON, "who-says-dog", "forward", text="I have never been to Berlin.", query="3")
    assert verdict.right
    assert verdict.values["word"] == "nie"
    assert float(verdict.values["forward"]) > 3 * float(verdict.values["cross"])


@pytest.mark.parametrize(("text", "query"), [("Open the door.", "1"), ("Dogs bark.", "2"), ("What is your name?", "1")])
def test_the_end_of_a_word_solves_the_first_puzzle(text: str, query: str) -> None:
    verdict = answered(LESSON, "puzzle-earlier-words", text=text, query=query)
    assert verdict.right
    assert float(verdict.values["decoder"]) > 0.5 + max(float(verdict.values[part]) for part in ("cross", "forward"))


def test_the_first_puzzle_says_what_a_word_did() -> None:
    found = {answered(LESSON, "puzzle-earlier-words", query=str(place)).outcome for place in range(6)}
    assert found == {"cross", "forward"}, "the sentence that the step opens has no solution for the first rivals"


@pytest.mark.parametrize("text", ["Please help me.", "Open the door.", "I have never been to Berlin."])
def test_a_sentence_that_needs_all_layers_solves_the_second_puzzle(text: str) -> None:
    assert answered(LESSON, "puzzle-all-layers", text=text).right


def test_the_second_puzzle_says_what_a_sentence_did() -> None:
    assert answered(LESSON, "puzzle-all-layers").values["needed"] == 2, "as the step opens"
    assert answered(LESSON, "puzzle-all-layers", text="Where is the station?").values["needed"] == 1
    assert answered(LESSON, "puzzle-all-layers", text="My sister bought a new car last week.").outcome == "earlier"


def test_nouns_in_the_encoder_solve_the_third_puzzle() -> None:
    last = {"stack": "encoder", "station_layer": "3"}
    cat = answered(LESSON, "puzzle-few-units", **last)
    station = answered(LESSON, "puzzle-few-units", **last, station_place="4", text="Where is the station?")
    assert (cat.right, cat.values["token"]) == (True, "cat")
    assert (station.right, station.values["token"]) == (True, "station")
    assert answered(LESSON, "puzzle-few-units").outcome == "more", "as the step opens"
    assert answered(LESSON, "puzzle-few-units", stack="encoder", station_layer="1").outcome == "more"

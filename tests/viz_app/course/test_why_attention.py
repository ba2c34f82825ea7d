"""Lesson 1 on the bundled checkpoints: each claim with a margin, and each puzzle with answers of both kinds."""

import pytest

from tests.viz_app.course.lesson_runs import answered, margin, outcomes, situation_of, step_of
from viz_app.course.catalogue import lesson_named

LESSON = lesson_named("why-attention")

GIVEN = ["Eine", "Frau", "mit", "einem", "blauen", "Hut", "liest", "auf", "einer", "Bank", "im", "Park", "ein", "Buch"]


def right_options(name: str) -> set[str]:
    return {option for option, verdict in outcomes(LESSON, name).items() if verdict.right}


def test_each_sentence_becomes_one_vector_of_640_numbers() -> None:
    assert right_options("one-vector") == {"same"}
    assert answered(LESSON, "one-vector", "same", text="Ein Hund rennt." * 5).values["long"] == 2 * 320


def test_hat_reading_park_and_dog_get_lost() -> None:
    step = step_of(LESSON, "lost-word")
    tokens = [token.text for token in situation_of(step).translation.source]
    assert tokens[: len(GIVEN)] == GIVEN, "each token is a word"
    verdicts = {word: answered(LESSON, "lost-word", float(tokens.index(word))) for word in tokens}
    lost = {word for word, verdict in verdicts.items() if verdict.right}
    assert lost >= {"Hut", "liest", "Park", "Hund", "schläft"}
    assert {verdicts[word].outcome for word in ("Frau", "blauen", "Bank", "Buch")} == {"kept"}
    assert {verdicts[sign].outcome for sign in (".", "</s>")} == {"no-word"}
    assert verdicts["Hut"].values["written"] == "hat"


def test_attention_brings_words_back() -> None:
    verdict = answered(LESSON, "with-attention", 10.0)
    assert verdict.right
    plain, attention, total = (int(verdict.values[name]) for name in ("plain", "attention", "all"))
    assert attention - plain >= 3
    assert total - plain >= 4
    assert {"hat", "dog", "reading"} <= {*str(verdict.values["back"]).split(", ")}
    assert [answered(LESSON, "with-attention", number).outcome for number in (2.0, 18.0)] == ["too-low", "too-high"]


def test_one_vector_loses_more_with_length_than_attention() -> None:
    verdict = answered(LESSON, "by-length", 16.0)
    assert verdict.right
    values = {name: float(value) for name, value in verdict.values.items()}
    assert 27 < values["plain_short"] < 29, "the text of the step says 28.1"
    assert values["plain_lost"] - values["attention_lost"] > 0.1
    assert [answered(LESSON, "by-length", number).outcome for number in (5.0, 25.0)] == ["too-low", "too-high"]


def test_hat_looks_at_hut() -> None:
    verdict = answered(LESSON, "alignment", 5.0)
    assert verdict.right
    assert verdict.values["token"] == "Hut"
    assert float(verdict.values["weight"]) > 0.8
    wrong = answered(LESSON, "alignment", 4.0)
    assert wrong.outcome == "wrong"
    assert wrong.values["answer"] == "blauen"


def test_the_full_stop_looks_at_the_last_word() -> None:
    assert right_options("full-stop") == {"word"}
    values = answered(LESSON, "full-stop", "word").values
    assert float(values["weight"]) - float(values["on_mark"]) > 0.3
    assert answered(LESSON, "full-stop", "stop", text="Ein Kind spielt.").right, "another sentence, another result"


def test_the_transformer_has_72_maps() -> None:
    assert answered(LESSON, "many-maps", 72.0).right
    assert [answered(LESSON, "many-maps", number).outcome for number in (48.0, 96.0)] == ["too-low", "too-high"]


EQUAL = ["Ein Hund rennt durch den Schnee.", "Ein Mann in einem roten Hemd.", "Ein Junge spielt Fußball."]
LOST = {
    "Eine Frau trinkt Kaffee.": "coffee, drinking",
    "Eine Katze schläft.": "cat",
    "Ein Mann öffnet eine Tür.": "door, opening",
}


@pytest.mark.parametrize("text", EQUAL)
def test_sentences_without_need_of_attention_solve_the_first_puzzle(text: str) -> None:
    assert answered(LESSON, "puzzle-equal", text=text).right
    assert margin(situation_of(step_of(LESSON, "puzzle-equal"), text=text).translation) > 0.02


def test_the_first_puzzle_says_what_a_sentence_did() -> None:
    assert answered(LESSON, "puzzle-equal").outcome == "differs", "as the step opens"
    short = answered(LESSON, "puzzle-equal", text="Eine Frau singt.")
    assert (short.outcome, short.values["count"], short.values["least"]) == ("short", 3, 4)


@pytest.mark.parametrize(("text", "lost"), LOST.items())
def test_short_sentences_that_lose_a_word_solve_the_second_puzzle(text: str, lost: str) -> None:
    verdict = answered(LESSON, "puzzle-lost", text=text)
    assert verdict.right
    assert verdict.values["lost"] == lost


def test_the_second_puzzle_says_what_a_sentence_did() -> None:
    assert answered(LESSON, "puzzle-lost").outcome == "kept", "as the step opens"
    assert answered(LESSON, "puzzle-lost", text=" ".join(GIVEN)).outcome == "length"
    assert answered(LESSON, "puzzle-lost", text="Hund").outcome == "length"


def test_a_place_at_the_beginning_solves_the_third_puzzle() -> None:
    verdict = answered(LESSON, "puzzle-backwards", text="Auf der Straße fährt ein Mann mit einem Fahrrad.")
    assert verdict.right
    assert int(verdict.values["back"]) >= 5


def test_the_third_puzzle_says_what_a_sentence_did() -> None:
    assert answered(LESSON, "puzzle-backwards").outcome == "forward", "as the step opens"
    assert answered(LESSON, "puzzle-backwards", text="Ein Kind spielt.").outcome == "forward"

"""Lesson 4 on the bundled checkpoints: each claim with a margin, and each puzzle with answers of both kinds."""

import pytest

from tests.viz_app.course.lesson_runs import answered, margin, outcomes, situation_of, step_of
from viz_app.course.catalogue import lesson_named

LESSON = lesson_named("masks-and-decoding")

EMPTY = {"batch_en_3": "", "batch_en_4": ""}


def right_options(name: str) -> set[str]:
    return {option for option, verdict in outcomes(LESSON, name).items() if verdict.right}


def numbers(name: str, option: str) -> dict[str, float]:
    values = answered(LESSON, name, option).values
    return {key: float(value) for key, value in values.items() if isinstance(value, float)}


def test_a_short_sentence_is_mostly_padding() -> None:
    verdict = answered(LESSON, "padding", 79.0)
    assert verdict.right
    assert (verdict.values["own"], verdict.values["longest"]) == (5, 24)
    assert [answered(LESSON, "padding", number).outcome for number in (40.0, 99.0)] == ["too-low", "too-high"]


def test_the_right_mask_leaves_nothing() -> None:
    assert right_options("right-mask") == {"zero"}
    assert answered(LESSON, "right-mask", "zero").values["leaked"] == 0


def test_a_fill_of_almost_nothing_leaks_more_than_half() -> None:
    verdict = answered(LESSON, "tiny-fill", 60.0)
    assert verdict.right
    assert 0.55 < float(verdict.values["decoder"]) < 0.63
    assert float(verdict.values["cross"]) > 0.2
    assert float(verdict.values["encoder"]) > 0.1
    assert verdict.values["correct"] == "Ein Hund rennt."
    assert verdict.values["wrong"] != verdict.values["correct"]
    assert [answered(LESSON, "tiny-fill", number).outcome for number in (1.0, 90.0)] == ["too-low", "too-high"]


def test_without_the_padding_mask_neighbours_matter() -> None:
    assert right_options("alone-or-together") == {"changed"}
    found = numbers("alone-or-together", "changed")
    assert found["encoder"] > 0.25
    assert found["cross"] > 0.35
    assert answered(LESSON, "alone-or-together", "same", sentence="2").right, "the longest sentence has no padding"


def test_at_step_three_the_decoder_has_read_three_tokens() -> None:
    verdict = answered(LESSON, "read-so-far", 3.0)
    assert verdict.right
    assert verdict.values == {"answer": 3.0, "keys": 3, "read": "<s> Der Hund", "written": "ist"}
    assert [answered(LESSON, "read-so-far", number).outcome for number in (2.0, 5.0)] == ["too-low", "too-high"]
    assert answered(LESSON, "read-so-far", 5.0, step="5").right


def test_the_right_mask_keeps_the_future_out() -> None:
    assert right_options("no-future") == {"no"}
    found = numbers("no-future", "no")
    assert found["right_mask"] < 1e-4
    assert found["fill"] > 0.5
    assert found["inverted"] > 3


def test_a_forced_word_never_changes_earlier_rows() -> None:
    assert right_options("forced-word") == {"later"}
    verdict = answered(LESSON, "forced-word", "later")
    assert verdict.values["token"] == "kaufte"
    assert str(verdict.values["forced"]).startswith("Meine Schwester kaufte letzte Woche")
    assert float(verdict.values["earlier"]) < 1e-5
    assert float(verdict.values["later"]) > 0.2


@pytest.mark.parametrize("forced", ["0.684", "1.473", "3.2014", "5.470", "8.2663"])
def test_other_forced_words_never_change_earlier_rows(forced: str) -> None:
    assert float(answered(LESSON, "forced-word", "later", forced=forced).values["earlier"]) < 1e-5


def test_the_sign_at_the_end_follows_the_source() -> None:
    assert right_options("question-mark") == {"stop"}
    step = step_of(LESSON, "question-mark")
    verdict = answered(LESSON, "question-mark", "stop")
    assert (verdict.values["token"], verdict.values["text"]) == ("Ist", "Ist der Hund im Garten.")
    assert margin(situation_of(step).usual) > 0.3
    assert answered(LESSON, "question-mark", "question", text="Is the dog in the garden?").right, "another source"


VERB_FIRST = {"Heute": "0.4285", "Gestern": "0.5842", "Morgen": "0.2646", "Jetzt": "0.5533", "Hier": "0.3240"}


@pytest.mark.parametrize(("word", "forced"), VERB_FIRST.items())
def test_words_in_front_move_the_verb_and_solve_the_first_puzzle(word: str, forced: str) -> None:
    verdict = answered(LESSON, "puzzle-verb-first", forced=forced)
    assert verdict.right
    assert str(verdict.values["forced"]).startswith(f"{word} habe ich ")


@pytest.mark.parametrize(
    ("forced", "outcome"),
    [("0.619", "same-order"), ("3.364", "same-order"), ("0.341", "unchanged"), ("0.4285-1.341", "too-many")],
)
def test_the_first_puzzle_says_what_the_forced_token_did(forced: str, outcome: str) -> None:
    assert answered(LESSON, "puzzle-verb-first", forced=forced).outcome == outcome


def test_the_first_puzzle_begins_without_a_forced_token() -> None:
    assert answered(LESSON, "puzzle-verb-first").outcome == "none"
    run = situation_of(step_of(LESSON, "puzzle-verb-first")).usual
    candidates = {f"0.{one.id}" for one in run.written[0].candidates}
    assert {*VERB_FIRST.values()} <= candidates, "the stepper offers them"


@pytest.mark.parametrize("texts", [("I am tired.", "You are here."), ("She is here.", "He is here.", "We are here.")])
def test_sentences_of_one_length_solve_the_second_puzzle(texts: tuple[str, ...]) -> None:
    fields = EMPTY | {f"batch_en_{number}": text for number, text in enumerate(texts, start=1)}
    assert answered(LESSON, "puzzle-no-leak", **fields).right


def test_the_second_puzzle_says_what_leaks() -> None:
    verdict = answered(LESSON, "puzzle-no-leak")
    assert (verdict.outcome, verdict.values["lengths"]) == ("leaks", "5, 24, 7, 19"), "as the step opens"
    other = answered(LESSON, "puzzle-no-leak", batch_en_1="A dog runs.", batch_en_2="A cat sleeps.", **EMPTY)
    assert other.outcome == "leaks"
    assert float(other.values["leaked"]) > 0.1
    assert answered(LESSON, "puzzle-no-leak", batch_en_2="A dog runs.", **EMPTY).outcome == "few"


def test_many_mistakes_stay_hidden_and_solve_the_third_puzzle() -> None:
    found = {
        (bug, sentence): answered(LESSON, "puzzle-hidden", bug=bug, sentence=str(sentence)).outcome
        for bug in ("fill", "inverted", "after", "padding", "queries")
        for sentence in (1, 2, 3, 4)
    }
    hidden = {place for place, outcome in found.items() if outcome == "right"}
    assert hidden == {("inverted", 1), ("fill", 2)}
    assert found["fill", 1] == "noticed", "as the step opens"
    assert found["padding", 2] == "no-leak"

"""Lesson 8 on the bundled checkpoints: each claim with a margin, and each puzzle with answers of both kinds."""

import pytest

from tests.viz_app.course.lesson_runs import answered, outcomes
from viz_app.course.catalogue import lesson_named

LESSON = lesson_named("learning-and-writing")


def right_options(name: str) -> list[str]:
    return [option for option, verdict in outcomes(LESSON, name).items() if verdict.right]


def test_the_untrained_model_repeats_a_word() -> None:
    assert right_options("before-training") == ["repeats"]
    values = answered(LESSON, "before-training", "repeats").values
    assert int(values["often"]) >= 0.75 * int(values["words"])


def test_the_loss_falls_from_that_of_equal_probabilities() -> None:
    verdict = answered(LESSON, "first-loss", 8.2)
    assert verdict.right
    values = {name: float(value) for name, value in verdict.values.items()}
    assert values["loss"] == pytest.approx(8.68, abs=0.02)
    assert values["even"] == pytest.approx(8.16, abs=0.01)
    assert values["end"] == pytest.approx(0.08, abs=0.01)
    assert [answered(LESSON, "first-loss", number).outcome for number in (1.0, 15.0)] == ["too-low", "too-high"]


def test_alignment_comes_before_the_previous_token() -> None:
    assert right_options("what-comes-first") == ["alignment"]
    assert answered(LESSON, "what-comes-first", "alignment").values == {"align": 1000, "previous": 2000}


def test_beam_search_finds_a_more_likely_text() -> None:
    assert right_options("greedy-or-beam") == ["better"]
    values = answered(LESSON, "greedy-or-beam", "better").values
    assert float(values["greedy_loss"]) - float(values["beam_loss"]) > 0.03
    assert answered(LESSON, "greedy-or-beam", "same", text="Where is the station?").right
    assert answered(LESSON, "greedy-or-beam", "worse", text="Excuse me.").right, "the teacher's page names it"


def test_a_hot_sample_is_never_the_greedy_text() -> None:
    verdict = answered(LESSON, "hot", 0.0)
    assert verdict.right
    assert verdict.values["count"] == 0
    assert int(verdict.values["cold"]) >= 8
    assert answered(LESSON, "hot", 8.0).outcome == "too-high"
    assert answered(LESSON, "hot", -3.0).outcome == "too-low"


def test_the_parameters_are_the_sum_of_the_text() -> None:
    verdict = answered(LESSON, "count-here", 5.7)
    assert verdict.right
    attention, forward, norm = 4 * (256 * 256 + 256), 256 * 512 + 512 + 512 * 256 + 256, 2 * 256
    encoder, decoder = attention + forward + 2 * norm, 2 * attention + forward + 3 * norm
    total = 7_000 * 256 + 3 * encoder + 3 * decoder
    assert verdict.values | {"vocabulary": 7_000 * 256, "encoder": encoder, "decoder": decoder, "total": total} == (
        verdict.values
    )
    assert [answered(LESSON, "count-here", number).outcome for number in (3.0, 9.0)] == ["too-low", "too-high"]


def test_gpt2_has_124_million_parameters() -> None:
    verdict = answered(LESSON, "count-gpt2", 124.0)
    assert verdict.right
    assert verdict.values["total"] == 124_439_808
    assert [answered(LESSON, "count-gpt2", number).outcome for number in (85.0, 160.0)] == ["too-low", "too-high"]


def test_only_bert_looks_at_what_comes_after_the_gap() -> None:
    assert right_options("gpt-and-bert") == ["bert"]
    values = answered(LESSON, "gpt-and-bert", "bert").values
    assert values["bert_keys"] == 10, "[CLS], seven words with the gap, the stop, [SEP]"
    assert values["gpt_keys"] == 2, "the start token and the first word"
    assert float(values["bert_back"]) > 0.7, "a head of BERT looks at the token before"
    assert float(values["gpt_back"]) < 0.6, "GPT has no such head"
    assert answered(LESSON, "gpt-and-bert", "bert", text="Mia is hungry. [MASK] mother cooks soup.").right
    for text in ("The dogs are hungry.", "[MASK] and Anna are friends.", ""):
        assert answered(LESSON, "gpt-and-bert", "bert", text=text).outcome == "no-gap"


def test_bert_takes_the_number_of_the_missing_word_from_the_verb() -> None:
    plural, single = (
        answered(LESSON, "gpt-and-bert", "bert", text=f"The [MASK] near the tree {verb} hungry.").values
        for verb in ("are", "is")
    )
    assert plural["bert_word"] != single["bert_word"]
    assert plural["gpt_word"] == single["gpt_word"], "GPT reads only the words before"


LIKE_GREEDY = [{"top_k": "1"}, {"temperature": "1.0", "top_p": "0.5"}, {"temperature": "1.0", "top_p": "0.05"}]


@pytest.mark.parametrize("settings", LIKE_GREEDY)
def test_settings_without_unlikely_tokens_solve_the_first_puzzle(settings: dict[str, str]) -> None:
    assert answered(LESSON, "puzzle-like-greedy", **settings).right


def test_the_first_puzzle_says_what_the_settings_did() -> None:
    assert answered(LESSON, "puzzle-like-greedy").outcome == "differs", "as the step opens"
    assert answered(LESSON, "puzzle-like-greedy", method="greedy").outcome == "other-search"


@pytest.mark.parametrize("text", ["Open the door.", "Excuse me.", "Three women are sitting on the grass and laughing."])
def test_an_unsure_beginning_solves_the_second_puzzle(text: str) -> None:
    assert answered(LESSON, "puzzle-beam", text=text).right


def test_the_second_puzzle_says_what_a_sentence_did() -> None:
    assert answered(LESSON, "puzzle-beam").outcome == "same", "as the step opens"
    assert answered(LESSON, "puzzle-beam", text="Open the door.", method="greedy").outcome == "other-search"


def test_some_seeds_solve_the_third_puzzle() -> None:
    found = [answered(LESSON, "puzzle-better", seed=str(seed)) for seed in range(15)]
    solved = [verdict for verdict in found if verdict.right]
    assert 2 <= len(solved) <= 10
    assert found[5].right, "the last hint names it"
    assert all(float(verdict.values["own"]) - float(verdict.values["other"]) > 0.2 for verdict in solved)


def test_the_third_puzzle_says_what_a_seed_did() -> None:
    assert not answered(LESSON, "puzzle-better").right, "as the step opens"
    assert answered(LESSON, "puzzle-better", top_k="1").outcome == "same"
    assert answered(LESSON, "puzzle-better", temperature="2.0").outcome == "less"
    assert answered(LESSON, "puzzle-better", method="greedy").outcome == "other-search"

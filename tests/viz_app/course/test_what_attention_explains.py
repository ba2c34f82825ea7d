"""Lesson 7 on the bundled checkpoints: each claim with a margin, and each puzzle with answers of both kinds."""

import json
from pathlib import Path

import numpy as np
import pytest

from model.interventions import Head, Intervention
from tests.viz_app.course.lesson_runs import answered, outcomes, situation_of, step_of
from tools.lesson_figures import (
    ATTENTION_FIGURES,
    ATTENTION_SENTENCES,
    best_pointer,
    head_figures,
    key_of,
    weights_hash,
)
from viz_app.content.grades import GRADES
from viz_app.content.lesson_texts import lesson_text
from viz_app.course.catalogue import lesson_named

LESSON = lesson_named("what-attention-explains")

WRITTEN = json.loads(ATTENTION_FIGURES.read_text(encoding="utf-8"))
ORDERS = WRITTEN["rank correlation with the effect of silencing"]


def right_options(name: str) -> list[str]:
    return [option for option, verdict in outcomes(LESSON, name).items() if verdict.right]


def test_the_figures_belong_to_the_bundled_weights() -> None:
    key = key_of(WRITTEN["checkpoint"])
    assert WRITTEN["sha256"] == weights_hash(Path(key.path)), "run: python -m tools.lesson_figures"
    assert WRITTEN["sentences"] == len(ATTENTION_SENTENCES) == 25


def test_the_texts_have_the_figures() -> None:
    steps = lesson_text(LESSON.name, "en").steps
    weight, gradient = (f"{ORDERS[name][0]:.2f}" for name in ("largest weight", "gradient"))
    assert (
        f"over 25 sentences of ours the correlation is {weight}." in steps["largest-weight"].outcomes["right"].lower()
    )
    assert f"over 25 sentences of ours the correlation is {gradient}." in steps["gradient"].outcomes["right"].lower()
    for kind in ("cross", "decoder"):
        assert f"{ORDERS[f'largest weight, {kind}'][0]:.2f}".replace("-", "−") in steps["largest-weight"].mistakes
    pointer = WRITTEN["best pointer"]
    assert step_of(LESSON, "best-pointer").parameters["heads"] == f"off.cross.{pointer['layer']}.{pointer['head']}"
    assert f"layer {pointer['layer']}, head {pointer['head']}" in steps["best-pointer"].text
    assert f"{100 * pointer['error rate']:.1f} %" in steps["best-pointer"].text


def test_the_figures_have_a_margin() -> None:
    weight, gradient = ORDERS["largest weight"], ORDERS["gradient"]
    assert weight[2] < 0.3, "the upper end of its interval"
    assert gradient[1] > 0.8, "the lower end"


def test_a_part_of_the_figures_comes_out_again() -> None:
    some = head_figures(key_of(WRITTEN["checkpoint"]), ATTENTION_SENTENCES[:3])
    assert abs(some["largest weight"][0]) < 0.3
    assert some["gradient"][0] > 0.6


def test_the_end_of_the_sentence_is_guessed() -> None:
    tokens = [token.text for token in situation_of(step_of(LESSON, "least-read")).translation.written]
    found = [answered(LESSON, "least-read", float(place)) for place in range(len(tokens))]
    assert [tokens[place] for place, verdict in enumerate(found) if verdict.right] == ["</s>"]
    shares = sorted(float(verdict.values["share"]) for verdict in found)
    assert shares[1] - shares[0] > 0.15


def test_the_end_of_a_word_is_guessed() -> None:
    assert right_options("end-of-a-word") == ["end"]
    values = answered(LESSON, "end-of-a-word", "end").values
    assert float(values["end"]) < 0.48
    assert min(float(values["beginning"]), float(values["other"])) > 0.7


def test_the_order_by_weights_is_another_and_that_by_gradients_similar() -> None:
    assert right_options("largest-weight") == ["none"]
    assert abs(float(answered(LESSON, "largest-weight", "none").values["correlation"])) < 0.2
    assert right_options("gradient") == ["similar"]
    assert float(answered(LESSON, "gradient", "similar").values["correlation"]) > 0.75


def test_the_best_pointer_changes_little() -> None:
    verdict = answered(LESSON, "best-pointer", 2.0)
    assert verdict.right
    assert int(verdict.values["count"]) <= 3
    assert answered(LESSON, "best-pointer", 20.0).outcome == "too-high"
    assert answered(LESSON, "best-pointer", -5.0).outcome == "too-low"


def test_uniform_heads_of_the_encoder_change_nothing_and_of_cross_attention_much() -> None:
    assert right_options("uniform-encoder") == ["stays"]
    assert right_options("uniform-cross") == ["changes"]
    assert answered(LESSON, "uniform-cross", "changes").values["changed"] == "Ein Buch liest ein Buch."
    # The teacher's page names a sentence where each claim fails.
    assert answered(LESSON, "uniform-encoder", "changes", text="I have never been to Berlin.").right
    assert answered(LESSON, "uniform-cross", "stays", text="The cat is black.").right


def test_the_values_of_the_end_are_short() -> None:
    assert right_options("value-norms") == ["smaller"]
    values = answered(LESSON, "value-norms", "smaller").values
    assert float(values["by_norm"]) < 0.7 * float(values["by_weight"])


def test_the_weights_do_not_find_the_head_of_a_model_with_a_known_answer() -> None:
    assert right_options("known-answers") == ["weights"]
    values = answered(LESSON, "known-answers", "weights").values
    assert values["norms"] == values["silencing"] == 1.0
    assert "backup" in GRADES["importance"].missed, "as the teacher's page says"


@pytest.mark.parametrize("text", ["Excuse me.", "Open the door.", "The man bites the dog."])
def test_a_guessed_word_solves_the_first_puzzle(text: str) -> None:
    verdict = answered(LESSON, "puzzle-guessed", text=text)
    assert verdict.right
    assert float(verdict.values["share"]) < 0.45


def test_the_first_puzzle_says_what_a_sentence_did() -> None:
    verdict = answered(LESSON, "puzzle-guessed")
    assert verdict.outcome == "read", "as the step opens"
    assert float(verdict.values["share"]) > 0.6
    assert answered(LESSON, "puzzle-guessed", text="?").outcome == "no-word"


def strong_heads(kind: str) -> list[Head]:
    maps = situation_of(step_of(LESSON, "puzzle-strong-and-silent")).usual.maps[kind]
    return [Head(kind, int(layer), int(head)) for layer, head in np.argwhere(maps.max(axis=(2, 3)) > 0.9)]


def silenced(heads: list[Head]) -> str:
    return Intervention(ablated=frozenset(heads)).code()


def test_heads_of_the_encoder_solve_the_second_puzzle() -> None:
    heads = strong_heads("encoder")
    assert len(heads) >= 11
    assert answered(LESSON, "puzzle-strong-and-silent", intervention=silenced(heads)).right
    assert answered(LESSON, "puzzle-strong-and-silent", intervention=silenced(heads[:10])).right


def test_the_second_puzzle_says_what_the_heads_did() -> None:
    assert answered(LESSON, "puzzle-strong-and-silent").values["count"] == 0, "as the step opens"
    few = silenced(strong_heads("encoder")[:4])
    assert answered(LESSON, "puzzle-strong-and-silent", intervention=few).values["count"] == 4
    cross = silenced(strong_heads("cross"))
    assert answered(LESSON, "puzzle-strong-and-silent", intervention=cross).outcome == "changed"
    other = answered(LESSON, "puzzle-strong-and-silent", intervention="uniform.cross.1.1")
    assert other.outcome == "other-change"


@pytest.mark.parametrize("text", ["Open the door.", "It was raining, so we stayed at home.", "The man bites the dog."])
def test_a_sentence_with_parts_of_words_solves_the_third_puzzle(text: str) -> None:
    assert answered(LESSON, "puzzle-needs-patterns", text=text).right


def test_the_third_puzzle_says_what_a_sentence_did() -> None:
    assert answered(LESSON, "puzzle-needs-patterns").outcome == "unchanged", "as the step opens"
    assert answered(LESSON, "puzzle-needs-patterns", text="Where is the station?").outcome == "unchanged"
    encoder = step_of(LESSON, "uniform-encoder").choices["intervention"]
    assert answered(LESSON, "puzzle-needs-patterns", intervention=encoder).values["heads"] == 24


def test_the_pointer_of_the_lesson_is_the_best() -> None:
    assert best_pointer(key_of("everyday-en-de")) == pytest.approx(WRITTEN["best pointer"], abs=0.005)

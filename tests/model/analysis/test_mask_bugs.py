import json
from pathlib import Path

import numpy as np
import pytest
import torch

from model.analysis.mask_bugs import BUGS, BugReport, bug_weights, mask_bug, rerun_greedy
from model.analysis.padded_batch import padded_batch
from model.checkpoints.checkpoint import Checkpoint
from model.decoding.search import SearchInput, finish, greedy, length_limit
from model.inference.opening import open_translator
from model.inference.translate import translate
from model.text.vocab import EOS_ID, OURS, PAD_ID
from model.trace import tracing
from tests.conftest import make_model
from tests.foreign_folders import make_folder
from viz_app.content.explanations import EXPLANATIONS

TEXTS = ("the dog runs .", "the small dog sees a red house .")


@pytest.fixture
def correct(toy: Checkpoint) -> BugReport:
    return mask_bug(toy, TEXTS)


def test_correct_masks_leak_nothing_and_give_the_models_translation(toy: Checkpoint, correct: BugReport) -> None:
    assert correct.texts == tuple(translate(toy, text).text for text in TEXTS)
    for kind in ("encoder", "decoder", "cross"):
        assert correct.leaked[kind].max() == 0
        np.testing.assert_allclose(correct.row_sums[kind], 1, atol=1e-5)
    assert correct.effect_of_future.max() < 1e-4  # where a tensor happens to lie in memory decides how a kernel sums
    assert correct.effect_of_batch.max() < 1e-4


@pytest.mark.parametrize(
    "settings", [{"forced_bos_token_id": 40}, {"repetition_penalty": 1.5, "no_repeat_ngram_size": 2, "min_length": 40}]
)
def test_correct_masks_give_the_translation_with_the_settings_of_the_model(
    settings: dict[str, object], tmp_path: Path
) -> None:
    file = make_folder(tmp_path / "bart", "bart") / "generation_config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | settings))
    checkpoint = open_translator(file.parent)
    assert mask_bug(checkpoint, TEXTS).texts == tuple(translate(checkpoint, text).text for text in TEXTS)


def test_a_continuation_obeys_the_settings_of_the_model(tmp_path: Path) -> None:
    file = make_folder(tmp_path / "gpt2", "gpt2") / "generation_config.json"
    settings = {"repetition_penalty": 1.5, "no_repeat_ngram_size": 2, "min_new_tokens": 20}
    file.write_text(json.dumps(json.loads(file.read_text()) | settings))
    checkpoint = open_translator(file.parent)
    found = mask_bug(checkpoint, TEXTS).texts
    for text, ours in zip(TEXTS, found, strict=True):
        translation = translate(checkpoint, text)
        ids = [token.id for token in translation.written[translation.prompt_length :]][:10]
        assert ours.endswith(checkpoint.tokenizers.target.decode(ids))


# Mistake → weight on masked keys in (encoder, decoder, cross)? an effect of the future? an effect of the batch?
EXPECTED = {
    "fill": ((True, True, True), True, True),
    "inverted": ((False, True, False), True, False),
    "after": ((False, False, False), True, True),
    "padding": ((True, False, True), False, True),
    "queries": ((True, False, True), False, True),
}


@pytest.mark.parametrize("name", BUGS)
def test_each_mistake_has_the_effects_in_its_explanation(toy: Checkpoint, name: str) -> None:
    report = mask_bug(toy, TEXTS, name)
    leaks, future, batch = EXPECTED[name]
    # The first sentence is the shorter one and so has padding.
    assert tuple(bool(report.leaked[kind][0] > 1e-3) for kind in ("encoder", "decoder", "cross")) == leaks
    assert bool(report.effect_of_future.max() > 1e-3) == future
    assert bool(report.effect_of_batch[0] > 1e-3) == batch
    sums = report.row_sums["decoder"]
    if name == "after":
        assert sums.min() < 0.9
    else:
        np.testing.assert_allclose(sums, 1, atol=1e-4)


def test_a_tiny_fill_acts_like_a_score_of_zero(toy: Checkpoint) -> None:
    first = bug_weights(toy, padded_batch(toy, TEXTS), "fill", "decoder", 0)[0, 0, 0]  # the first query may see one key
    assert first[0] < 1
    np.testing.assert_allclose(first[1:], first[1], rtol=1e-5)


def test_a_mistake_does_not_change_the_model(toy: Checkpoint) -> None:
    batch = padded_batch(toy, TEXTS)
    before = bug_weights(toy, batch, "", "cross", 0)
    for name in BUGS:
        mask_bug(toy, TEXTS, name)
        # Which kind it shows in depends on the mistake, and for the decoder on how long the translations are.
        assert any(
            not np.allclose(bug_weights(toy, batch, name, kind, 0), bug_weights(toy, batch, "", kind, 0))
            for kind in ("encoder", "decoder")
        )
    np.testing.assert_allclose(bug_weights(toy, batch, "", "cross", 0), before, atol=1e-6)


def test_one_empty_text_works(toy: Checkpoint) -> None:
    for name in ("", *BUGS):
        assert len(mask_bug(toy, ("",), name).texts) == 1


@pytest.mark.parametrize("length", [3, 40])
def test_an_endless_translation_stops_at_the_limit_of_the_search(length: int) -> None:
    """Also at the last of the model's 40 positions."""
    model = make_model()
    source = torch.full((2, length), 7)
    source[1, 3:] = PAD_ID
    never_ending = {"logits": lambda logits: logits.index_fill(-1, torch.tensor(EOS_ID), float("-inf"))}
    with torch.inference_mode(), tracing(record=(), edits=never_ending):
        written = rerun_greedy(model, source, OURS)
        _, expected = finish(greedy(model, SearchInput(sources=source.tolist())))
    assert written == [list(hypothesis.ids) for hypothesis in expected]
    assert [len(ids) for ids in written] == [length_limit(n, 40) for n in (length, 3)]


@pytest.mark.parametrize("name", ["", *BUGS])
def test_a_text_of_any_length_works(toy: Checkpoint, name: str) -> None:
    assert len(mask_bug(toy, ("dog house " * 100, "the dog runs ."), name).texts) == 2


def test_every_mistake_has_a_description() -> None:
    assert {name for name in EXPLANATIONS if name.startswith("mistake-")} == {f"mistake-{name}" for name in BUGS}

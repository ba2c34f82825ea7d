from pathlib import Path

import numpy as np
import pytest
import torch

from model.analysis.padded_batch import layer_stages, padded_batch
from model.checkpoints.checkpoint import Checkpoint
from model.config.search import SearchConfig
from model.decoding.search import Hypothesis
from model.inference.run import Result
from model.inference.translate import (
    best_hypotheses,
    translate,
    translate_lines,
    translate_together,
)
from model.text.vocab import BOS_ID, EOS_ID
from model.trace import ablate_heads, tracing
from tests.agreement_cases import CASES

SENTENCE = "The dog sees the cat."


SEARCHES = [
    SearchConfig(),
    SearchConfig(method="beam", beam_size=4),
    SearchConfig(method="sample", temperature=0.7, top_k=5, seed=3),
]


@pytest.fixture(params=SEARCHES, ids=lambda search: search.method)
def translation(request: pytest.FixtureRequest, toy: Checkpoint) -> Result:
    return translate(toy, SENTENCE, search=request.param)


def test_the_toy_model_translates(toy: Checkpoint) -> None:
    expected = "Der Hund sieht die Katze."
    text = translate(toy, SENTENCE).text
    assert text == (expected.lower() if toy.config.tokenizer.lowercase else expected)


def test_the_shapes_of_the_maps_match_the_tokens(toy: Checkpoint, translation: Result) -> None:
    source, target = len(translation.source), len(translation.written)
    assert len(translation.read) == target
    assert translation.maps["encoder"].shape == (2, 4, source, source)
    assert translation.maps["decoder"].shape == (1, 4, target, target)
    assert translation.maps["cross"].shape == (1, 4, target, source)
    for maps in (translation.maps["encoder"], translation.maps["decoder"], translation.maps["cross"]):
        assert maps.dtype == np.float32
        np.testing.assert_allclose(maps.sum(-1), 1.0, atol=1e-5)


def test_maps_of_a_search_equal_those_of_a_teacher_forced_pass(toy: Checkpoint, translation: Result) -> None:
    source = torch.tensor([[token.id for token in translation.source]])
    read = torch.tensor([[token.id for token in translation.read]])
    with torch.inference_mode(), tracing(record=["*.weights"]) as trace:
        logits = toy.model(source, read)
    for layer in range(2):
        expected = trace.passes(f"encoder.layers.{layer}.self_attention.weights")[0][0]
        np.testing.assert_allclose(translation.maps["encoder"][layer], expected, atol=1e-5)
    for kind, maps in (("self_attention", translation.maps["decoder"]), ("cross_attention", translation.maps["cross"])):
        expected = trace.passes(f"decoder.layers.0.{kind}.weights")[0][0]
        np.testing.assert_allclose(maps[0], expected, atol=1e-5)
    written = torch.tensor([token.id for token in translation.written])
    expected = logits[0].softmax(-1).gather(-1, written[:, None])[:, 0]
    np.testing.assert_allclose([token.probability for token in translation.written], expected, atol=1e-5)


def test_the_weight_on_later_tokens_is_exactly_zero(translation: Result) -> None:
    length = translation.maps["decoder"].shape[-1]
    assert not translation.maps["decoder"][..., ~np.tri(length, dtype=bool)].any()


def test_tokens_have_their_special_tokens(translation: Result) -> None:
    assert translation.source[-1].id == EOS_ID
    assert translation.read[0].id == BOS_ID
    assert translation.written[-1].id == EOS_ID
    assert [t.id for t in translation.read[1:]] == [t.id for t in translation.written[:-1]]
    assert all(token.special == (token.word < 0) for token in (*translation.source, *translation.written))


def test_the_first_candidate_is_the_token_of_greedy_search(toy: Checkpoint) -> None:
    for token in translate(toy, SENTENCE).written:
        assert token.candidates[0].token == token.text
        assert token.candidates[0].probability == pytest.approx(token.probability, abs=1e-6)
        probabilities = [c.probability for c in token.candidates]
        assert probabilities == sorted(probabilities, reverse=True)


def test_a_forced_token_is_written_and_read(toy: Checkpoint) -> None:
    free = translate(toy, SENTENCE)
    other = toy.tokenizers.target.encode("Katze").ids[0]
    assert other != free.written[1].id
    forced = translate(toy, SENTENCE, forced={1: other})
    assert forced.written[0].id == free.written[0].id
    assert forced.written[1].id == forced.read[2].id == other
    assert forced.written[1].probability < free.written[1].probability
    assert forced.written[1].candidates[0].token == free.written[1].text


def test_entropy_is_that_of_each_tokens_distribution(toy: Checkpoint, translation: Result) -> None:
    source = torch.tensor([[token.id for token in translation.source]])
    read = torch.tensor([[token.id for token in translation.read]])
    with torch.inference_mode():
        expected = torch.distributions.Categorical(logits=toy.model(source, read)[0]).entropy()
    np.testing.assert_allclose([token.entropy for token in translation.written], expected, atol=1e-4)
    assert expected.std() > 1e-3  # so that a wrong row would show


def test_an_ablation_changes_this_translation_and_no_other(toy: Checkpoint) -> None:
    before = translate(toy, SENTENCE)
    ablated = translate(toy, SENTENCE, edits={"decoder.layers.*.cross_attention.weights": ablate_heads(range(4))})
    assert not ablated.maps["cross"].any()
    assert ablated.written[0].probability != pytest.approx(before.written[0].probability, abs=1e-3)
    after = translate(toy, SENTENCE)
    assert after.text == before.text
    np.testing.assert_allclose(after.maps["cross"], before.maps["cross"], atol=1e-6)


@pytest.mark.parametrize("text", ["", "   ", "word " * 2000, "🐕", "</script><b>x</b>", "مرحبا", "\x00", "Zzyzx qwrtp"])
def test_any_text_gives_a_translation_with_valid_maps(toy: Checkpoint, text: str) -> None:
    translation = translate(toy, text)
    np.testing.assert_allclose(translation.maps["cross"].sum(-1), 1.0, atol=1e-5)
    assert translation.maps["cross"].shape[2:] == (len(translation.written), len(translation.source))
    tokens, room = len(toy.tokenizers.source.encode(text).ids), toy.config.model.max_length - 1  # and </s>
    assert (len(translation.source) - 1, translation.dropped) == (min(tokens, room), max(tokens - room, 0))


def test_only_a_finished_hypothesis_loses_its_last_id() -> None:
    assert Hypothesis(ids=(7, 8, EOS_ID), finished=True).written == (7, 8)
    assert Hypothesis(ids=(7, 8, 9), finished=False).written == (7, 8, 9)


def test_each_line_has_one_translation(toy: Checkpoint) -> None:
    lines = ["The dog sees the cat.", "", "The horse runs in the snow.", "  ", "The dog sees the cat."]
    for search in SEARCHES:
        done = translate_lines(toy.model, toy.tokenizers, lines, search=search, batch_size=2)
        assert [bool(text) for text in done] == [True, False, True, False, True]
        assert done[0] == done[4] == translate(toy, lines[0], search=search).text


def test_a_padded_batch_shows_the_masks_that_it_used(toy: Checkpoint) -> None:
    batch = padded_batch(toy, ["The dog sees the cat.", "The man sleeps behind the house."])
    assert batch.padding_mask.tolist() == (batch.source_ids != 0).tolist()
    for kind, mask in (
        ("encoder", batch.padding_mask[:, None, :]),
        ("decoder", batch.allowed["decoder"][-1]),
        ("cross", batch.padding_mask[:, None, :]),
    ):
        scores, masked, weights = layer_stages(toy, batch, kind, toy.model.config.num_layers(kind) - 1).values()
        allowed = np.broadcast_to(mask[:, None], weights.shape)
        assert np.isfinite(scores).all()
        assert (masked[allowed] == scores[allowed]).all()
        assert np.isneginf(masked[~allowed]).all()
        assert not weights[~allowed].any()
        exponentials = np.exp(masked - masked.max(-1, keepdims=True))
        np.testing.assert_allclose(weights, exponentials / exponentials.sum(-1, keepdims=True), atol=1e-6)


def test_a_sentence_has_the_same_maps_in_a_padded_batch(toy: Checkpoint) -> None:
    texts = ["The dog sees the cat.", "The man sleeps behind the house.", "A bird."]
    batch = padded_batch(toy, texts)
    stages = layer_stages(toy, batch, "cross", 0)
    for row, text in enumerate(texts):
        alone = translate(toy, text)
        queries, keys = alone.maps["cross"].shape[2:]
        assert batch.read[row][:queries] == tuple(token.text for token in alone.read)
        assert set(batch.read[row][queries:]) <= {"<pad>"}  # what was written last is read by nobody
        np.testing.assert_allclose(stages["weights"][row, :, :queries, :keys], alone.maps["cross"][0], atol=1e-5)


@pytest.mark.parametrize("toy_folder", ["bpe", "words", "recurrent-additive", "recurrent-none"], indirect=True)
def test_texts_that_are_translated_together_have_the_results_of_each_alone(toy: Checkpoint) -> None:
    texts = ["A bird.", "The man sleeps behind the house and the dog sees the cat.", "", SENTENCE]
    lengths = set()
    for text, together in zip(texts, translate_together(toy, texts), strict=True):
        alone = translate(toy, text)
        lengths.add(len(alone.written))
        assert (together.text, together.source, together.finished) == (alone.text, alone.source, alone.finished)
        assert [token.id for token in together.read] == [token.id for token in alone.read]
        for ours, theirs in zip(together.written, alone.written, strict=True):
            assert (ours.text, ours.word) == (theirs.text, theirs.word)
            assert (ours.probability, ours.entropy) == pytest.approx((theirs.probability, theirs.entropy), abs=1e-4)
            assert [one.token for one in ours.candidates[:3]] == [one.token for one in theirs.candidates[:3]]
        assert together.maps.keys() == alone.maps.keys()
        for kind, maps in alone.maps.items():
            np.testing.assert_allclose(together.maps[kind], maps, atol=1e-5)
    assert len(lengths) > 1  # or no padding would be cut off


def test_a_model_that_reads_padding_does_not_read_that_of_a_batch(tmp_path: Path) -> None:
    """Its encoder reads sources of at least 12 tokens, and the second text is longer."""
    opened = CASES["torch, padding read"].open(tmp_path / "model")
    assert isinstance(opened, Checkpoint)
    lines = ["the small dog sees a cat", "the red dog sees a cat and " * 3 + "runs"]
    for line, together in zip(lines, translate_together(opened, lines), strict=True):
        np.testing.assert_allclose(together.maps["encoder"], translate(opened, line).maps["encoder"], atol=1e-5)
    for line, found in zip(lines, best_hypotheses(opened.model, opened.tokenizers, lines), strict=True):
        assert found is not None
        assert found.log_prob == pytest.approx(translate(opened, line).log_prob, abs=1e-3)

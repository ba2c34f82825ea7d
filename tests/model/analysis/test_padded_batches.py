"""Padded batches of models that do not translate: the library's numbers, and the mistakes that make sense."""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
import torch

from model.analysis.mask_bugs import BUGS, bugs_of, continue_batch, mask_bug
from model.analysis.padded_batch import ids_of, layer_stages, padded_batch
from model.checkpoints.checkpoint import ClassifierCheckpoint, load_classifier
from model.inference.classify import classify
from model.inference.passes import Side
from model.inference.translate import translate
from tests.conftest import BUNDLED
from tools.foreign_families import family_named
from tools.library_run import Pair, open_pair, run_library
from tools.small_models import make_family

TEXTS = ("A <mask> runs.", "The cat <mask> on the mat because it was tired.")
OpenPair = Callable[[str], Pair]
CASES: list[tuple[str, Side | None]] = [
    ("GPT-2", "left"),
    ("GPT-2", "right"),
    ("Llama", "left"),
    ("Gemma 3", "left"),
    ("BERT", None),
    ("ModernBERT classifier", None),
]


@pytest.fixture(scope="module")
def pair_of(tmp_path_factory: pytest.TempPathFactory) -> OpenPair:
    return cache(lambda title: open_pair(make_family(tmp_path_factory.mktemp("small") / "model", family_named(title))))


@pytest.mark.parametrize(("title", "side"), CASES)
def test_a_padded_batch_has_the_weights_and_masks_of_the_library(
    pair_of: OpenPair, title: str, side: Side | None
) -> None:
    pair = pair_of(title)
    batch = padded_batch(pair.checkpoint, TEXTS, side=side)
    kind = pair.checkpoint.model.config.kinds[0]
    ids, real = (batch.read_ids, batch.read_real) if kind == "decoder" else (batch.source_ids, batch.source_real)
    assert real.all(axis=1).tolist() == [False, True]
    assert bool(real[0, 0]) == (side != "left")
    library = run_library(pair, torch.tensor(ids), mask=torch.tensor(real).long())
    for layer, maps in enumerate(library.batch_maps[kind]):
        weights = layer_stages(pair.checkpoint, batch, kind, layer)["weights"]
        np.testing.assert_allclose(weights * real[:, None, :, None], maps * real[:, None, :, None], atol=1e-6)
        allowed = np.broadcast_to(batch.allowed[kind][layer][:, None], maps.shape)
        assert maps[~allowed & real[:, None, :, None]].max() == 0
        assert not batch.allowed[kind][layer, 0][:, ~real[0]].any()
    if title == "Gemma 3":  # a window in one layer only
        length = real.shape[1]
        assert [bool((batch.unpadded_mask(kind, layer) != np.tri(length)).any()) for layer in range(2)] == [True, False]


@pytest.mark.parametrize(("title", "side"), CASES)
def test_a_sentence_does_not_depend_on_its_batch_unless_a_mask_is_wrong(
    pair_of: OpenPair, title: str, side: Side | None
) -> None:
    checkpoint = pair_of(title).checkpoint
    correct = mask_bug(checkpoint, TEXTS, side=side)
    assert correct.effect_of_batch.max() < 1e-5
    assert max(leaked.max() for leaked in correct.leaked.values()) == 0
    assert (correct.effect_of_future is None) == (checkpoint.config.task != "continuation")
    for name in bugs_of(checkpoint, side):
        wrong = mask_bug(checkpoint, TEXTS, name, side=side)
        effects = (wrong.effect_of_batch[0], 0 if wrong.effect_of_future is None else wrong.effect_of_future.max())
        assert max(effects) > 1e-3, name
        assert wrong.effect_of_batch[1] < 1e-5, "the longest sentence has no padding"


def test_only_mistakes_that_change_something_are_offered(pair_of: OpenPair) -> None:
    assert bugs_of(pair_of("GPT-2").checkpoint, "left") == tuple(BUGS)
    assert bugs_of(pair_of("BERT").checkpoint) == ("fill", "after", "padding", "queries")
    checkpoint = pair_of("GPT-2").checkpoint
    offered = bugs_of(checkpoint, "right")
    assert offered == ("fill", "inverted", "after")
    for name in set(BUGS) - set(offered):
        report = mask_bug(checkpoint, TEXTS, name, side="right")
        assert report.effect_of_future is not None
        assert max(report.effect_of_batch.max(), report.effect_of_future.max()) < 1e-5


@pytest.mark.parametrize("side", ["left", "right"])
def test_texts_are_continued_in_a_batch_as_they_are_alone(pair_of: OpenPair, side: Side) -> None:
    checkpoint = pair_of("GPT-2").checkpoint
    batch = padded_batch(checkpoint, TEXTS, side=side)
    found = continue_batch(checkpoint.model, ids_of(checkpoint.model, batch), checkpoint.tokenizers.specials, side)
    for text, written in zip(TEXTS, found, strict=True):
        alone = translate(checkpoint, text)
        assert written == [token.id for token in alone.written[alone.prompt_length :]][: len(written)]
        assert len(written) > 3


def test_a_classifier_decides_as_it_does_alone_and_otherwise_with_a_mistake() -> None:
    checkpoint = load_classifier(BUNDLED / "imdb-sentiment")
    assert isinstance(checkpoint, ClassifierCheckpoint)
    texts = (
        "Not a bad film at all, although it is far too long.",
        "What a waste of two hours. The plot makes no sense, the jokes are old and even the music is boring.",
    )
    alone = [classify(checkpoint, text) for text in texts]
    expected = tuple(f"{one.label}: {one.probabilities[one.label]:.3f}" for one in alone)
    assert mask_bug(checkpoint, texts).texts == expected
    wrong = mask_bug(checkpoint, texts, "padding")
    assert wrong.texts[0].startswith("negative") != expected[0].startswith("negative")
    assert wrong.texts[1] == expected[1]


def test_a_reader_fills_in_what_it_guesses_alone(pair_of: OpenPair) -> None:
    checkpoint = pair_of("BERT").checkpoint
    found = mask_bug(checkpoint, TEXTS).texts
    assert found == tuple(translate(checkpoint, text).text for text in TEXTS)

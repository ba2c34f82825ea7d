"""The opening sentences of every page show the effect that the page promises, for every bundled checkpoint.

Each test computes the promised effect with the model itself, and with a margin, so that it holds on any processor.
"""

from functools import cache

import numpy as np
import pytest

from model.analysis.deletion import delete_each_word, word_spans
from model.analysis.padded_batch import padded_batch
from model.analysis.patching import patch_every_head, patch_head
from model.analysis.silencing import silence_each_head
from model.checkpoints.checkpoint import load_checkpoint, load_classifier
from model.inference.classify import classify
from model.inference.run import Result
from model.inference.translate import translate
from model.interventions import Head, Intervention
from tests.conftest import BUNDLED
from tests.model.analysis.follow import first_difference, follow
from viz_app.content.examples import BATCHES, DEMONSTRATIONS, REVIEWS, WITHOUT_ATTENTION, examples_for
from viz_app.sections.masks.correct_masks import clearest_row
from viz_app.services.listing import comparable, listed_checkpoints

TRANSFORMERS = [name for name in DEMONSTRATIONS if not name.startswith("gru")]
WITH_HEADS = [name for name in DEMONSTRATIONS if name != WITHOUT_ATTENTION]
AS_TRAINED = Intervention()
MARGIN = 0.01  # in probability, between the likeliest token and the next; processors differ by less than 0.0001

opened = cache(lambda name: load_checkpoint(BUNDLED / name))


def surely_differ(one: Result, other: Result) -> bool:
    """Whether two translations differ, and no token up to the first difference is nearly as likely as another."""
    place = first_difference(one, other)
    if place is None or one.text == other.text:
        return False
    tokens = (*one.written[: place + 1], *other.written[: place + 1])
    return all(token.candidates[0].probability - token.candidates[1].probability > MARGIN for token in tokens)


def run(name: str, text: str, change: Intervention = AS_TRAINED) -> Result:
    found = translate(opened(name), text, edits=change.edits())
    assert found.text
    return found


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_without_positions_two_orders_have_one_translation(name: str) -> None:
    orders = (DEMONSTRATIONS[name].order, DEMONSTRATIONS[name].reordered)
    seen = [run(name, order) for order in orders]
    blind = [run(name, order, Intervention(positions=False)) for order in orders]
    ids = [sorted(token.id for token in one.source) for one in seen]
    assert ids[0] == ids[1], "the same tokens"
    assert surely_differ(*seen)
    assert blind[0].text == blind[1].text
    assert all(surely_differ(one, blind[0]) for one in seen)


@pytest.mark.parametrize("name", WITH_HEADS)
def test_one_head_decides_the_translation_that_the_board_opens_with(name: str) -> None:
    text = DEMONSTRATIONS[name].heads
    before = run(name, text)
    effects = silence_each_head(follow(opened(name), text))
    kind = min(effects.changes, key=lambda kind: np.where(effects.positions[kind] >= 0, effects.changes[kind], 1).min())
    costs = np.where(effects.positions[kind] >= 0, effects.changes[kind], 1)
    layer, head = divmod(int(costs.argmin()), costs.shape[1])
    assert costs[layer, head] < -0.05, "a head that decides, and that the translation is worse without"
    silenced = Intervention(ablated=frozenset({Head(kind, layer, head)}))
    assert surely_differ(before, run(name, text, silenced))
    assert max(np.abs(grid).max() for grid in effects.changes.values()) > 0.1, "the colours say something"


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_the_head_that_is_patched_first_changes_the_translation(name: str) -> None:
    checkpoint, opening = opened(name), DEMONSTRATIONS[name]
    found = patch_every_head(checkpoint, opening.donor, opening.receiver)
    assert found is not None
    kind = max(found.heads, key=lambda kind: float(np.nan_to_num(found.heads[kind], nan=-9).max()))
    grid = np.nan_to_num(found.heads[kind], nan=-9)
    head = Head(kind, *(int(i) for i in np.unravel_index(int(grid.argmax()), grid.shape)))
    assert surely_differ(run(name, opening.receiver), patch_head(checkpoint, opening.donor, opening.receiver, head))


def offered_first(name: str) -> str | None:
    """The checkpoint that Side by side offers first, or None if no other checkpoint reads the same language."""
    found = listed_checkpoints()
    mine = next(one for one in found if one.key.name == name)
    assert mine.config is not None
    return next(iter(comparable(mine.key, mine.config, found)), None)


PAIRS = [(name, other) for name in DEMONSTRATIONS if (other := offered_first(name))]


def test_every_checkpoint_with_a_partner_is_compared() -> None:
    assert {name for name, _ in PAIRS} == set(DEMONSTRATIONS) - {"everyday-zh-en"}, "nothing else reads Chinese"


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_the_two_sides_differ_by_more_than_a_word(one: str, other: str) -> None:
    text = DEMONSTRATIONS[one].compared
    words = [set(run(name, text).text.lower().split()) for name in (one, other)]
    assert len(words[0] ^ words[1]) >= 4


def test_without_a_partner_two_sentences_are_compared_and_differ_by_more_than_a_word() -> None:
    name = "everyday-zh-en"
    texts = DEMONSTRATIONS[name].compared, examples_for(opened(name).config)[-1]
    words = [set(run(name, text).text.lower().split()) for text in texts]
    assert len(words[0] ^ words[1]) >= 4


def test_single_words_change_the_class_of_the_first_review() -> None:
    classifier = load_classifier(BUNDLED / "imdb-sentiment")
    whole = classify(classifier, REVIEWS[0])
    assert whole.probabilities[whole.label] > 0.5 + MARGIN
    found = delete_each_word(classifier, REVIEWS[0])
    for one, (start, end) in zip(found, word_spans(REVIEWS[0]), strict=True):
        without = classify(classifier, REVIEWS[0][:start] + REVIEWS[0][end:].lstrip())
        assert one.label == without.label
        assert one.change == pytest.approx(
            without.probabilities[whole.label] - whole.probabilities[whole.label], abs=1e-4
        )
    turning = [one.word for one in found if one.label != whole.label]
    assert 1 <= len(turning) < len(found) / 2, "some words decide, most do not"


@pytest.mark.parametrize("name", TRANSFORMERS)
def test_the_triangle_of_the_first_mask_is_larger_than_its_padding(name: str) -> None:
    batch = padded_batch(opened(name), BATCHES[opened(name).config.tokenizer.source_language])
    mask = batch.allowed["decoder"][0, clearest_row(batch)]
    words = int(mask.any(axis=0).sum())
    assert 2 <= len(mask) - words < words, "some padding, and more words"
    assert mask[:words, :words].sum() == words * (words + 1) // 2, "the triangle"

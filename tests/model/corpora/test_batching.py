import random

import pytest

from model.corpora.batching import Batch, Batches, labelled_texts, sentence_pairs, shortened
from model.corpora.corpora import read_pairs
from model.text.tokenizers import TokenizerPair, train_pair
from model.text.vocab import BOS_ID, EOS_ID, PAD_ID
from tests.conftest import TOY_DATA, toy_recipe

WORDS = [
    "der",
    "hund",
    "läuft",
    "im",
    "schnee",
    "und",
    "die",
    "katze",
    "schläft",
    "auf",
    "dem",
    "alten",
    "sofa",
    "neben",
    "einem",
    "großen",
    "fenster",
]


def long_tailed_pairs(count: int) -> list[tuple[str, str]]:
    """Lengths spread like those of captions: most about 12 words, some 30, targets near their sources."""
    rng = random.Random(0)
    lengths = [min(40, max(4, round(rng.lognormvariate(2.5, 0.35)))) for _ in range(count)]
    texts = [" ".join(rng.choices(WORDS, k=n)) for n in lengths]
    return [
        (text, " ".join(rng.choices(WORDS, k=max(3, n + rng.randint(-2, 2)))))
        for n, text in zip(lengths, texts, strict=True)
    ]


@pytest.fixture(scope="module")
def tokenizers() -> TokenizerPair:
    pairs = read_pairs(TOY_DATA, "toy", "train", "en", "de")
    return train_pair(toy_recipe("words").tokenizer, [*pairs, *long_tailed_pairs(50)])


def sentences(batches: list[Batch]) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    return [
        (tuple(s[s != PAD_ID].tolist()), tuple(t[t != PAD_ID].tolist()))
        for batch in batches
        for s, t in zip(batch.source, batch.target, strict=True)
    ]


def test_an_epoch_holds_every_pair_once(tokenizers: TokenizerPair) -> None:
    pairs = read_pairs(TOY_DATA, "toy", "train", "en", "de")
    batches = Batches(sentence_pairs(pairs, tokenizers, max_length=50), batch_tokens=300)
    found = sentences(list(batches.epoch(seed=1, number=1)))
    expected = [
        ((*tokenizers.source.encode(s).ids, EOS_ID), (BOS_ID, *tokenizers.target.encode(t).ids, EOS_ID))
        for s, t in pairs
    ]
    assert sorted(found) == sorted(expected)
    assert sorted(sentences(list(batches.in_order()))) == sorted(expected)


def test_batches_stay_within_their_size_and_waste_little_on_padding(tokenizers: TokenizerPair) -> None:
    examples = sentence_pairs(long_tailed_pairs(3000), tokenizers, max_length=60)
    batches = list(Batches(examples, batch_tokens=1000).epoch(seed=1, number=1))
    assert max(batch.target.numel() for batch in batches) <= 1000
    cells = sum(batch.source.numel() + batch.target.numel() for batch in batches)
    filled = sum(int((batch.source != PAD_ID).sum() + (batch.target != PAD_ID).sum()) for batch in batches)
    assert 1 - filled / cells < 0.10


def test_order_follows_from_seed_and_epoch_alone(tokenizers: TokenizerPair) -> None:
    batches = Batches(sentence_pairs(long_tailed_pairs(300), tokenizers, max_length=60), batch_tokens=300)
    first = sentences(list(batches.epoch(seed=1, number=1)))
    assert first == sentences(list(batches.epoch(seed=1, number=1)))
    assert batches.count(seed=1, number=1) == len(list(batches.epoch(seed=1, number=1)))
    assert first != sentences(list(batches.epoch(seed=1, number=2)))
    assert first != sentences(list(batches.epoch(seed=2, number=1)))


def test_pairs_beyond_the_models_positions_are_left_out(tokenizers: TokenizerPair) -> None:
    pairs = [("der hund", "die katze"), ("der hund", "die " * 50)]
    assert len(sentence_pairs(pairs, tokenizers, max_length=20)) == 1


def test_examples_are_made_anew_each_epoch_where_asked(tokenizers: TokenizerPair) -> None:
    drawn = iter([[([5, 3], [2, 5, 3])], [([6, 3], [2, 6, 3])]])
    batches = Batches([([4, 3], [2, 4, 3])], batch_tokens=300, resample=lambda: next(drawn))
    epochs = [sentences(list(batches.epoch(seed=1, number=n))) for n in (1, 2)]
    assert epochs == [[((5, 3), (2, 5, 3))], [((6, 3), (2, 6, 3))]]


def test_of_a_long_text_beginning_and_end_are_kept() -> None:
    assert shortened([4, 5, 6], 4) == [4, 5, 6, EOS_ID]
    assert shortened(range(10, 30), 6) == [10, 11, 27, 28, 29, EOS_ID]
    assert len(shortened(range(10, 30), 7)) == 7


def test_labelled_texts_keep_their_labels_and_fill_batches_by_their_words(tokenizers: TokenizerPair) -> None:
    texts = [("der hund " * n, n % 2) for n in range(1, 21)]
    examples = labelled_texts(texts, tokenizers.source, max_length=30)
    batches = list(Batches(examples, batch_tokens=100).epoch(seed=1, number=1))
    assert max(batch.source.numel() for batch in batches) <= 100
    rows = [row for batch in batches for row in zip(batch.source, batch.target[:, 0], strict=True)]
    found = sorted((int((ids != PAD_ID).sum()), int(label)) for ids, label in rows)
    assert found == sorted((min(2 * n + 1, 30), n % 2) for n in range(1, 21))

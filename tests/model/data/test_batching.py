import random

import pytest

from model.data.batching import Batch, Batches
from model.data.corpora import read_pairs
from model.data.tokenizers import TokenizerPair, train_pair
from model.data.vocab import BOS_ID, EOS_ID, PAD_ID
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
    batches = Batches(pairs, tokenizers, batch_tokens=300, max_length=50)
    found = sentences(list(batches.epoch(seed=1, number=1)))
    expected = [
        ((*tokenizers.source.encode(s).ids, EOS_ID), (BOS_ID, *tokenizers.target.encode(t).ids, EOS_ID))
        for s, t in pairs
    ]
    assert sorted(found) == sorted(expected)
    assert sorted(sentences(list(batches.in_order()))) == sorted(expected)


def test_batches_stay_within_their_size_and_waste_little_on_padding(tokenizers: TokenizerPair) -> None:
    batches = list(
        Batches(long_tailed_pairs(3000), tokenizers, batch_tokens=1000, max_length=60).epoch(seed=1, number=1)
    )
    assert max(batch.target.numel() for batch in batches) <= 1000
    cells = sum(batch.source.numel() + batch.target.numel() for batch in batches)
    filled = sum(int((batch.source != PAD_ID).sum() + (batch.target != PAD_ID).sum()) for batch in batches)
    assert 1 - filled / cells < 0.10


def test_order_follows_from_seed_and_epoch_alone(tokenizers: TokenizerPair) -> None:
    batches = Batches(long_tailed_pairs(300), tokenizers, batch_tokens=300, max_length=60)
    first = sentences(list(batches.epoch(seed=1, number=1)))
    assert first == sentences(list(batches.epoch(seed=1, number=1)))
    assert batches.count(seed=1, number=1) == len(list(batches.epoch(seed=1, number=1)))
    assert first != sentences(list(batches.epoch(seed=1, number=2)))
    assert first != sentences(list(batches.epoch(seed=2, number=1)))


def test_pairs_beyond_the_models_positions_are_left_out_and_counted(tokenizers: TokenizerPair) -> None:
    pairs = [("der hund", "die katze"), ("der hund", "die " * 50)]
    batches = Batches(pairs, tokenizers, batch_tokens=300, max_length=20)
    assert (len(batches), batches.left_out) == (1, 1)

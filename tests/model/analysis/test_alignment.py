"""Links between words: those of people, those of heads, and the rate of errors."""

from pathlib import Path

import numpy as np
import pytest
import torch

from model.analysis.alignment import Pointer, join_words, link_words, strongest_links, word_per_token
from model.checkpoints.checkpoint import load_checkpoint
from model.corpora.aligned import AlignedPair, cooccurrence, error_rate, read_aligned
from model.corpora.corpora import CorpusError
from tests.conftest import BUNDLED
from tests.model.analysis.follow import follow


def pair(source: str, target: str, sure: str, possible: str = "") -> AlignedPair:
    links = [frozenset(tuple(map(int, link.split("-"))) for link in text.split()) for text in (sure, possible)]
    return AlignedPair(
        source=tuple(source.split()),
        target=tuple(target.split()),
        sure=links[0],
        possible=links[0] | links[1],  # type: ignore[arg-type]
    )


def test_the_error_rate_is_that_of_och_and_ney() -> None:
    one = pair("a b c", "x y z", "0-0 1-1", "2-2")
    assert error_rate([one.sure], [one]) == 0
    assert error_rate([one.possible], [one]) == 0  # what is possible is no error
    assert error_rate([frozenset()], [one]) == 1
    # One right of two, and two that a person is sure of: 1 − (1 + 1) / (2 + 2).
    assert error_rate([frozenset({(0, 0), (0, 1)})], [one]) == pytest.approx(0.5)


def test_every_word_of_the_captions_is_linked() -> None:
    pairs = read_aligned("en", "de")
    assert len(pairs) == 50
    for one in pairs:
        assert {s for s, _ in one.possible} == set(range(len(one.source)))
        assert {t for _, t in one.possible} == set(range(len(one.target)))
        assert one.sure <= one.possible
    turned = read_aligned("de", "en")
    assert turned[3].source == pairs[3].target
    assert turned[3].sure == {(t, s) for s, t in pairs[3].sure}


@pytest.mark.parametrize("line", ["a b\tx", "a b\tx\t0:0", "a b\tx\t2-0", "a b\tx\t0-1"])
def test_a_line_in_a_wrong_format_is_named(tmp_path: Path, line: str) -> None:
    (tmp_path / "en-de.tsv").write_text(f"a\tx\t0-0\n{line}\n")
    with pytest.raises(CorpusError, match="line 2"):
        read_aligned("en", "de", tmp_path)


def test_languages_without_aligned_pairs_are_refused() -> None:
    with pytest.raises(CorpusError, match="en and zh"):
        read_aligned("en", "zh")


def test_each_token_belongs_to_its_word() -> None:
    pairs = [pair("the dog", "der Hund", ""), pair("the cat", "die Katze", ""), pair("a dog", "ein Hund", "")]
    found = cooccurrence(pairs)
    assert (1, 1) in found[0]  # dog and Hund meet twice
    assert (1, 1) in found[2]


def test_subwords_are_summed_as_keys_and_averaged_as_queries() -> None:
    weights = np.array([[0.3, 0.25, 0.45], [0.1, 0.3, 0.6], [0.2, 0.7, 0.1]], dtype=np.float32)
    # Two pieces of the first target word; the first two columns are one source word: 0.55 and 0.4 against 0.45 and 0.6.
    assert strongest_links(weights, [0, 0, 1], [0, 0, 1]) == {(1, 0), (0, 1)}


@torch.inference_mode()
@pytest.mark.parametrize("name", ["everyday-en-de", "multi30k-de-en-words"])
def test_a_heads_links_are_its_largest_weights(name: str) -> None:
    checkpoint = load_checkpoint(BUNDLED / name)
    texts = checkpoint.config.tokenizer
    one = read_aligned(texts.source_language, texts.target_language)[0]
    found = link_words(checkpoint, one)
    source, target = join_words(one.source), join_words(one.target)
    pieces, written = checkpoint.tokenizers.source.encode(source), checkpoint.tokenizers.target.encode(target)
    specials = checkpoint.tokenizers.specials
    ids = dict(enumerate((*written.ids, specials.eos)))
    translation = follow(checkpoint, source, ids).result
    assert [token.id for token in translation.written] == [*written.ids, specials.eos]
    rows, columns = word_per_token(written, target, one.target), word_per_token(pieces, source, one.source)
    assert sorted(set(rows)) == list(range(len(one.target)))
    layers, heads = translation.maps["cross"].shape[:2]
    for when, shift in (("written", 0), ("read", 1)):
        weights = translation.maps["cross"][1, 2]
        for word in range(len(one.target)):
            mean = np.mean([weights[t + shift, : len(columns)] for t, row in enumerate(rows) if row == word], axis=0)
            sums = [mean[[i for i, c in enumerate(columns) if c == s]].sum() for s in range(len(one.source))]
            assert (int(np.argmax(sums)), word) in found[Pointer("head", when, 1, 2)]
    assert len(found) == 2 * (layers * heads + 3)


def test_attention_finds_most_words_and_better_than_chance() -> None:
    checkpoint = load_checkpoint(BUNDLED / "everyday-en-de")
    pairs = read_aligned("en", "de")[:12]
    found = [link_words(checkpoint, one) for one in pairs]
    rates = {pointer: error_rate([links[pointer] for links in found], pairs) for pointer in found[0]}
    best = min(rates, key=lambda pointer: rates[pointer])
    assert rates[best] < 0.2 < error_rate(cooccurrence(pairs), pairs)

import math

import pytest
import sacrebleu
import torch

from model.checkpoints.checkpoint import Checkpoint
from model.corpora.batch import Batches, TranslationBatch
from model.corpora.corpora import read_pairs
from model.corpora.examples import Examples, sentence_pairs
from model.training.evaluate import bleu_by_length, corpus_bleu, mean_loss, moses_tokens, score
from tests.conftest import TOY_DATA


def test_loss_is_the_mean_over_tokens_for_any_batch_size(toy: Checkpoint) -> None:
    pairs = read_pairs(TOY_DATA, "toy", "test", "en", "de")
    examples = Examples.of(sentence_pairs(pairs, toy.tokenizers, max_length=64))
    losses = [mean_loss(toy.model, Batches(examples, TranslationBatch.of, batch_tokens=size)) for size in (30, 10_000)]
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)
    total, tokens = 0.0, 0
    for source, target in pairs:
        s = torch.tensor([[*toy.tokenizers.source.encode(source).ids, 3]])
        t = torch.tensor([[2, *toy.tokenizers.target.encode(target).ids, 3]])
        with torch.inference_mode():
            log_probs = toy.model(s, t[:, :-1]).log_softmax(-1)
        total -= float(log_probs[0].gather(-1, t[0, 1:, None]).sum())
        tokens += t.size(1) - 1
    assert losses[0] == pytest.approx(total / tokens, abs=1e-4)


def test_scores_equal_those_of_sacrebleu() -> None:
    hypotheses, references = ["Ein Hund läuft schnell im Schnee."], ["ein Hund läuft schnell durch den Schnee."]
    scores = score(hypotheses, references, loss=2.0, language="de")
    assert scores["bleu"] == sacrebleu.corpus_bleu(hypotheses, [references]).score
    assert scores["bleu_lowercased"] > scores["bleu"]
    assert scores["chrf"] == sacrebleu.corpus_chrf(hypotheses, [references]).score
    assert scores["perplexity"] == pytest.approx(math.exp(2.0))
    assert "tok:13a" in scores["bleu_signature"]
    assert "case:lc" in scores["bleu_lowercased_signature"]


def test_tokenized_bleu_is_that_of_lower_cased_moses_tokens() -> None:
    # The published scores of Multi30k are of such tokens: punctuation apart, quotes as &quot;, no upper case.
    assert moses_tokens(["Sie sagt: „Komm her!“"], "de") == ["sie sagt : &quot; komm her ! &quot;"]
    scores = score(["Ein Hund läuft im Schnee ."], ["ein Hund läuft im Schnee."], loss=1.0, language="de")
    assert scores["bleu_tokenized"] == pytest.approx(100)
    assert score(["狗"], ["狗"], loss=1.0, language="zh")["bleu_tokenized"] is None


def test_chinese_is_scored_by_characters() -> None:
    scores = score(["狗在雪地里奔跑"], ["狗在雪地里跑步"], loss=1.0, language="zh")
    assert "tok:zh" in scores["bleu_signature"]
    assert scores["bleu"] > 40


def test_scoring_no_sentences_is_refused(toy: Checkpoint) -> None:
    with pytest.raises(ValueError, match="at least one sentence"):
        mean_loss(toy.model, Batches(Examples.of([]), TranslationBatch.of, batch_tokens=10))


def test_bleu_by_length_equals_the_bleu_of_these_sentences() -> None:
    sources = ["a b c", "a b c d e f g h i", "x " * 30, "one two three"]
    hypotheses = ["The dog sees the cat.", "A red car stands here.", "wrong", "Two birds sing in the tree."]
    references = ["The dog sees the cat.", "A red car stood here.", "right", "Two birds sing in a tree."]
    rows = bleu_by_length(sources, hypotheses, references, language="en")
    assert [(name, count) for name, count, _ in rows] == [("1 to 8", 2), ("9 to 12", 1), ("21 and more", 1)]
    short = corpus_bleu([hypotheses[0], hypotheses[3]], [references[0], references[3]], language="en", lowercase=True)
    assert rows[0][2] == short[0]

"""The tiny models: their tokenizers, batches and measurements, and a run that is stopped and continued."""

from pathlib import Path

import pytest
import torch

from weights.tiny import train as train_module
from weights.tiny.figures import HELD_OUT_SEED, LOOKS, Bigrams, probes
from weights.tiny.train import HIGHEST, IGNORED, TINY, rate, story_batches, train_tiny

with pytest.MonkeyPatch.context() as fewer:
    fewer.setattr(train_module, "READ", 2_500)
    GPT, BERT = TINY["tiny-gpt-en"].make_tokenizer(), TINY["tiny-bert-en"].make_tokenizer()
SIZES = {"count": 40, "seed": 3, "longest": 64, "tokens": 512}


def test_a_word_of_the_stories_is_one_token_and_an_invented_name_is_several() -> None:
    assert BERT.tokenize("Anna gave the apples to Minju.")[:5] == ["Anna", "gave", "the", "apples", "to"]
    assert GPT.convert_ids_to_tokens(GPT("Anna gave")["input_ids"]) == ["<|endoftext|>", "ĠAnna", "Ġgave"]
    assert "[UNK]" not in BERT.tokenize("Zygmunt Qajbux 1234 Xiaojun")
    assert GPT.decode(GPT("Zoë and 美 ")["input_ids"], skip_special_tokens=True).strip() == "Zoë and 美"


def test_a_language_model_predicts_each_next_token() -> None:
    for batch in story_batches(GPT, masked=False, **SIZES):
        real = batch.real.bool()
        assert torch.equal(batch.wanted[:, :-1][real[:, 1:]], batch.ids[:, 1:][real[:, 1:]])
        assert (batch.wanted[:, :-1][~real[:, 1:]] == IGNORED).all()
        assert batch.ids.numel() <= 512
        assert (batch.ids[:, 0] == GPT.eos_token_id).all()


def test_a_masked_model_predicts_hidden_tokens_only() -> None:
    hidden = shown = masks = 0
    for batch in story_batches(BERT, masked=True, **SIZES):
        wanted = batch.wanted != IGNORED
        assert wanted.any(dim=1).all()
        assert not wanted[batch.real == 0].any()
        assert not torch.isin(batch.wanted[wanted], torch.tensor(BERT.all_special_ids)).any()
        hidden, shown = hidden + int(wanted.sum()), shown + int(batch.real.sum())
        masks += int((batch.ids == BERT.mask_token_id).sum())
    assert 0.15 < hidden / shown < 0.4
    assert 0.7 < masks / hidden < 0.9


def test_the_learning_rate_rises_stays_and_falls() -> None:
    assert [rate(done, 100) / HIGHEST for done in (0, 0.5, 1, 70, 85, 100)] == pytest.approx([0, 0.5, 1, 1, 0.5, 0])


def test_a_stopped_run_continues_to_the_same_weights(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(train_module, "STORIES", 12)
    monkeypatch.setattr(train_module, "READ", 50)
    train_tiny("tiny-gpt-en", tmp_path / "whole", rounds=2)
    original, seen = train_module.one_round, []

    def stopped(*args: object, number: int, rounds: int) -> float:
        seen.append(number)
        if number == 1 and seen == [0, 1]:
            raise KeyboardInterrupt
        return original(*args, number=number, rounds=rounds)  # type: ignore[arg-type]

    monkeypatch.setattr(train_module, "one_round", stopped)
    with pytest.raises(KeyboardInterrupt):
        train_tiny("tiny-gpt-en", tmp_path / "parts", rounds=2)
    train_tiny("tiny-gpt-en", tmp_path / "parts", rounds=2)
    assert seen == [0, 1, 1]
    whole, parts = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "parts"))
    assert whole == parts


def test_pairs_of_neighbours_are_counted() -> None:
    counts = Bigrams(iter([[1, 2, 3], [1, 2, 4], [1, 2, 3]]), 10)
    assert counts.probability(1, 2) > 0.9
    assert counts.probability(2, 3) > counts.probability(2, 4) > counts.probability(2, 5) > 0
    assert counts.fill(1, 3) == 2
    assert sum(counts.probability(2, token) for token in range(10)) == pytest.approx(1)


def test_where_a_head_can_look() -> None:
    ids = [0, 5, 6, 7, 5, 6]
    assert list(LOOKS["previous token"](ids)) == [(2, 1), (3, 2), (4, 3), (5, 4)]
    assert list(LOOKS["same token earlier"](ids)) == [(4, 1), (5, 2)]
    assert list(LOOKS["after same token"](ids)) == [(4, 2), (5, 3)]


def test_a_probe_has_a_right_answer_that_the_sentence_decides() -> None:
    for probe in probes("agreement", 40):
        assert probe.subject in probe.before.split()[1]
        assert probe.right == ("is" if probe.wrong == "are" else "are")
    for probe in probes("name", 40):
        assert probe.before.count(probe.wrong) == 2
        assert probe.before.count(probe.right) == 1
    assert {probe.right for probe in probes("agreement", 40)} == {"is", "are"}


def test_figures_need_no_story_of_the_training() -> None:
    assert max(tiny.rounds for tiny in TINY.values()) < HELD_OUT_SEED

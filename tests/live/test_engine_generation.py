"""The engine in the browser obeys the generation settings of a folder, as the library's `generate` does."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from model.checkpoints.checkpoint import Checkpoint
from model.foreign.open import open_foreign
from model.inference.run import Run
from model.inference.translate import compute, search_input
from tests.live.engine import run_engine
from tools.foreign_families import family_named
from tools.small_models import BEGIN, END, PAD, make_family

FILE = "generation_config.json"
TEXT = "The cat sat on the mat and the cat sat"
RULES = (
    *("no_repeat_ngram_size", "no_repeat_ngram_size of one", "encoder_no_repeat_ngram_size", "repetition_penalty"),
    *("encoder_repetition_penalty", "min_length", "min_new_tokens", "suppress_tokens", "begin_suppress_tokens"),
    *("bad_words_ids", "sequence_bias", "forced_eos_token_id", "exponential_decay_length_penalty", "several"),
    "after a forced token",
)
FEW = ("min_length", "forced_eos_token_id", "several", "after a forced token")  # what the kind of the model changes
UNCHANGED = ("encoder_no_repeat_ngram_size", "encoder_repetition_penalty")  # a translator may write other tokens anyway


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_family(tmp_path_factory.mktemp("gpt2"), family_named("GPT-2"), seed=4)


def settings_for(rule: str, own: Sequence[int], source: Sequence[int]) -> Mapping[str, Any]:
    """Settings that change what a model writes without them, `own`."""
    every: dict[str, Mapping[str, Any]] = {
        "no_repeat_ngram_size": {"no_repeat_ngram_size": 2},
        "no_repeat_ngram_size of one": {"no_repeat_ngram_size": 1},
        "encoder_no_repeat_ngram_size": {"encoder_no_repeat_ngram_size": 1},
        "repetition_penalty": {"repetition_penalty": 1.7},
        "encoder_repetition_penalty": {"encoder_repetition_penalty": 3.0},
        "min_length": {"min_length": len(source) + 9, "eos_token_id": own[1]},
        "min_new_tokens": {"min_new_tokens": 9, "eos_token_id": own[1]},
        "suppress_tokens": {"suppress_tokens": [own[-1], 4, 99_999]},
        "begin_suppress_tokens": {"begin_suppress_tokens": [own[0], 21]},
        "bad_words_ids": {"bad_words_ids": [[PAD], own[:2], own[1:4], [own[-1]]]},
        "sequence_bias": {"sequence_bias": [[[17], 1.5], [own[:2], -40.0], [[own[0], 90], 30.0]]},
        "forced_eos_token_id": {"forced_eos_token_id": END},
        "exponential_decay_length_penalty": {"exponential_decay_length_penalty": [3, 1.5]},
        "several": {
            "repetition_penalty": 1.3,
            "no_repeat_ngram_size": 3,
            "bad_words_ids": [own[:2]],
            "remove_invalid_values": True,
        },
        "after a forced token": {
            "forced_bos_token_id": 90,
            "begin_suppress_tokens": [*range(5, 200)],
            "suppress_tokens": [own[-1]],
        },
    }
    return every[rule]


def opened(folder: Path, settings: Mapping[str, Any]) -> Checkpoint:
    """The folder with these generation settings."""
    (folder / FILE).write_text(json.dumps(settings), encoding="utf-8")
    checkpoint = open_foreign(folder)
    assert isinstance(checkpoint, Checkpoint)
    return checkpoint


def generated(checkpoint: Any, limit: int) -> list[int]:
    """What `generate` writes after the prompt, at most so many tokens."""
    start = search_input(checkpoint.model, checkpoint.tokenizers, TEXT)
    source = torch.tensor([list(start.sources[0])])
    found = checkpoint.model.model.generate(source, do_sample=False, num_beams=1, max_new_tokens=limit)
    return [int(i) for i in found[0, start.prompt_length + 1 :]]


def written_by_page(folder: Path, settings: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The result of the page for each of these settings."""
    jobs = [{"job": "result", "run": {"text": TEXT}, "files": {FILE: json.dumps(one)}} for one in settings]
    return run_engine(folder, jobs)


def probabilities(token: Any) -> list[float]:
    """Of a written token, and of the candidates at its place."""
    return [token.probability, *(one.probability for one in token.candidates)]


@pytest.mark.parametrize(
    ("title", "seed", "rules"),
    [("GPT-2", 4, RULES), ("T5", 3, RULES), ("Llama", 2, FEW), ("BART", 1, FEW), ("Marian", 4, FEW)],
)
def test_greedy_text_obeys_each_setting(title: str, seed: int, rules: Sequence[str], tmp_path: Path) -> None:
    """All rules for a language model and a translator, because a rule knows nothing else of the model."""
    make_family(tmp_path, family_named(title), seed=seed)  # these do not end at once
    usual = {"pad_token_id": PAD, "bos_token_id": BEGIN, "eos_token_id": END, "decoder_start_token_id": END}
    bare = compute(opened(tmp_path, usual), Run(text=TEXT))
    own = [token.id for token in bare.written[bare.prompt_length :]]
    source = [token.id for token in (bare.source or bare.read[: bare.prompt_length + 1])]
    cases = {rule: {**usual, **settings_for(rule, own, source)} for rule in rules}
    pages = written_by_page(tmp_path, list(cases.values()))
    for (rule, settings), page in zip(cases.items(), pages, strict=True):
        checkpoint = opened(tmp_path, settings)
        ours = compute(checkpoint, Run(text=TEXT))
        ids = [token["id"] for token in page["written"]]
        assert ids == [token.id for token in ours.written], rule
        new = ids[ours.prompt_length :]
        assert new == generated(checkpoint, len(new)), rule
        assert (new != own) or rule in UNCHANGED, rule
        for shown, theirs in zip(page["written"], ours.written, strict=True):
            assert [one["id"] for one in shown["candidates"]] == [one.id for one in theirs.candidates], rule
            found = [one["probability"] for one in (shown, *shown["candidates"])]
            np.testing.assert_allclose(found, probabilities(theirs), atol=1e-5, err_msg=rule)


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"no_repeat_ngram_size": "3"}, "no_repeat_ngram_size in its generation settings is 3, which cannot be used"),
        ({"bad_words_ids": [5]}, "bad_words_ids in its generation settings is [5], which cannot be used"),
        ({"bad_words_ids": [[99_999, 5]]}, "bad_words_ids in its generation settings is [[99999,5]], which cannot"),
        ({"repetition_penalty": -1}, "repetition_penalty in its generation settings is -1, which cannot be used"),
        ({"bad_words_ids": [[5, i % 300] for i in range(1_001)]}, "has 1001 phrases with 2002 tokens. The limits are"),
        ({"sequence_bias": [[[5] * 10_001, 1.5]]}, "has 1 phrases with 10001 tokens. The limits are 1000 phrases and"),
        ({"suppress_tokens": [*range(400)]}, "The generation settings of this model allow no token after "),
    ],
)
def test_settings_that_cannot_be_used_are_refused(settings: Mapping[str, Any], sentence: str, folder: Path) -> None:
    assert sentence in written_by_page(folder, [settings])[0]["refusal"]


def test_the_browser_has_no_beam_search(folder: Path) -> None:
    run = {"text": TEXT, "search": {"method": "beam", "beam_size": 3}}
    (found,) = run_engine(folder, [{"job": "result", "run": run}])
    assert found["refusal"].startswith("The browser writes with greedy search only.")


def test_settings_of_config_json_count_only_without_a_file_of_their_own(folder: Path) -> None:
    """As `from_pretrained` reads them."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    with_rule = json.dumps({**config, "suppress_tokens": [232]})
    run = {"text": TEXT}
    without, both = run_engine(
        folder,
        [
            {"job": "result", "run": run, "files": {"config.json": with_rule, FILE: None}},
            {"job": "result", "run": run, "files": {"config.json": with_rule}},
        ],
    )
    assert 232 not in [token["id"] for token in without["written"]]
    assert 232 in [token["id"] for token in both["written"]]

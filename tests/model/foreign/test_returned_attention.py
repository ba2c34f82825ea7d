"""Read-only models: the weights that the library returns are its attention maps, and nothing can be changed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from transformers import AutoModelForSequenceClassification, BigBirdConfig

from model.analysis.contributions import contributions
from model.checkpoints.checkpoint import CheckpointError, ClassifierCheckpoint
from model.config.section import ConfigError
from model.foreign.returned_attention import from_windows
from model.foreign.sizes import few_tokens
from model.inference.classify import classify
from model.inference.opening import open_checkpoint, open_translator
from model.inference.translate import record_translation, translate
from model.interventions import Head, Intervention
from model.trace import tracing
from tests.model.analysis.follow import follow
from tools.foreign_families import family_named
from tools.library_run import open_pair, run
from tools.small_models import make_family

TEXT = "The cat sat on the mat."
CLOSE = {"atol": 1e-6, "rtol": 1e-5}
Make = Callable[..., Path]


@pytest.fixture
def made(tmp_path: Path) -> Make:
    return lambda title: make_family(tmp_path / family_named(title).name, family_named(title))


class Softmaxes(TorchFunctionMode):
    """The results of every softmax (B, H, T, S) inside the block."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[Tensor] = []

    def __torch_function__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = function(*args, **(kwargs or {}))
        if getattr(function, "__name__", "") == "softmax" and result.dim() == 4:
            self.found.append(result)
        return result


@pytest.mark.parametrize("title", ["BLOOM", "SqueezeBERT", "GPT-J", "DeBERTa V2"])
def test_the_maps_are_the_softmax_that_the_library_computes(made: Make, title: str) -> None:
    """SqueezeBERT returns its scores, before the softmax."""
    checkpoint = open_translator(made(title))
    with Softmaxes() as softmaxes, tracing(record=("*.weights",)) as trace, torch.inference_mode():
        checkpoint.model.model(input_ids=few_tokens(checkpoint.model.model))
    assert len(trace.names) == 2
    for weights, name in zip(softmaxes.found, trace.names, strict=False):
        torch.testing.assert_close(trace.passes(name)[0], weights.reshape(trace.passes(name)[0].shape), **CLOSE)


@torch.inference_mode()
def test_a_window_and_its_global_token_are_what_queries_and_keys_give(made: Make) -> None:
    """Longformer returns weights by their distance; the classifier's first token attends to all, and all to it."""
    folder = made("Longformer classifier")
    checkpoint = open_checkpoint(folder)
    assert isinstance(checkpoint, ClassifierCheckpoint)
    found = classify(checkpoint, TEXT)
    maps, ids = found.encoder[0], torch.tensor([found.ids])  # (H, T, T), (1, T)
    library = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    attention, kept = library.get_submodule("longformer.encoder.layer.0.attention.self"), {}
    for part in ("query", "key"):
        attention.get_submodule(part).register_forward_hook(
            lambda _module, _inputs, output, part=part: kept.update({part: output.flatten(0, 1).clone()})
        )
    library(input_ids=ids)
    tokens, (heads, _, _) = ids.size(1), maps.shape
    query, key = (kept[part][:tokens].unflatten(-1, (heads, -1)).transpose(0, 1) for part in ("query", "key"))
    scores = query @ key.transpose(1, 2) / query.size(-1) ** 0.5
    places = torch.arange(tokens)
    near = (places - places[:, None]).abs() <= library.config.attention_window[0] // 2
    near[:, 0] = True
    expected = scores.masked_fill(~near, float("-inf")).softmax(dim=-1)
    np.testing.assert_allclose(maps[:, 1:], expected[:, 1:].numpy(), atol=1e-5)
    assert (maps[:, 0] > 0).all()
    np.testing.assert_allclose(maps.sum(axis=-1), 1, atol=1e-5)


def test_weights_of_a_window_stand_at_their_keys() -> None:
    """Three tokens, a window of one token on each side, no global tokens."""
    near = torch.tensor([[0.0, 0.9, 0.1], [0.2, 0.3, 0.5], [0.6, 0.4, 0.0]])
    expected = torch.tensor([[0.9, 0.1, 0.0], [0.2, 0.3, 0.5], [0.0, 0.6, 0.4]])
    torch.testing.assert_close(from_windows(near[None, None], None)[0, 0], expected)


@pytest.mark.parametrize("title", ["BLOOM", "ALBERT", "FSMT"])
def test_an_edit_of_a_read_only_model_is_an_error_that_names_the_reason(made: Make, title: str) -> None:
    checkpoint = open_translator(made(title))
    model = checkpoint.model
    before = translate(checkpoint, TEXT)
    head = frozenset({Head(model.config.kinds[-1], 0, 1)})
    for change in (Intervention(ablated=head), Intervention(uniform=head)):
        with pytest.raises(ConfigError, match=r"Nothing can be changed in this model.*(own code|more than once)"):
            translate(checkpoint, TEXT, edits=change.edits())
    with pytest.raises(ConfigError, match="Nothing can be changed"):
        model.mixing(model.config.kinds[-1], 0)
    after = translate(checkpoint, TEXT)
    assert after.text == before.text
    for kind, maps in before.maps.items():
        assert np.array_equal(after.maps[kind], maps)


def test_an_analysis_that_needs_values_says_why_it_is_not_offered(made: Make) -> None:
    pair = open_pair(made("BLOOM"))
    found = run(pair)
    with pytest.raises(ConfigError, match="only its attention weights are known"):
        contributions(follow(pair.checkpoint, found.text), 0, 0)


def test_a_model_that_reads_again_records_each_token_once(made: Make) -> None:
    """OpenAI GPT keeps no keys and values."""
    checkpoint = open_translator(made("OpenAI GPT"))
    translation, recording = record_translation(checkpoint, TEXT, record=("*",))
    tokens = len(translation.read)
    assert translation.maps["decoder"].shape == (2, 4, tokens, tokens)
    assert not np.triu(translation.maps["decoder"], k=1).any()
    assert recording.array("decoder.layers.1.feed_forward_residual.stream").shape == (tokens, 32)


def test_bigbird_opens_for_the_texts_in_which_it_attends_to_all_tokens(made: Make) -> None:
    checkpoint = open_translator(made("BigBird"))
    assert translate(checkpoint, TEXT).maps["encoder"].shape[:2] == (2, 4)
    longest = (5 + 2 * BigBirdConfig().num_random_blocks) * BigBirdConfig().block_size
    assert checkpoint.model.config.max_length <= longest


def test_xmod_without_a_default_language_needs_one(tmp_path: Path) -> None:
    family = replace(family_named("X-MOD"), settings={"languages": ["en_XX", "de_DE"]})
    with pytest.raises(CheckpointError, match=r"no default_language\. Add one of en_XX, de_DE"):
        open_checkpoint(make_family(tmp_path / "xmod", family))


def test_a_reader_of_tokens_on_both_sides_predicts_nothing(made: Make) -> None:
    checkpoint = open_translator(made("XLNet"))
    found = translate(checkpoint, "The <mask> sat.")
    assert not any(token.candidates for token in found.source)

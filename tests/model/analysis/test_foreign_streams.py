"""Models of another library followed inside: each part is the library's, not only their sum."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from model.analysis.contributions import contributions
from model.analysis.influence import influence
from model.analysis.station import function_code
from model.analysis.streams import stacks_of
from model.checkpoints.checkpoint import Checkpoint
from model.inference.opening import open_checkpoint
from model.inference.passes import padded_for
from model.inference.translate import translate
from model.trace import Edit, hook_name, tracing
from tests.model.analysis.follow import follow, lens_of, stations_of, zeroing_of
from tools.foreign_families import family_named
from tools.small_models import make_family

FAMILIES = ["BART", "T5", "GPT-NeoX", "OLMo 2", "Granite", "Phi", "RoBERTa", "ELECTRA, narrow embeddings"]
TEXT, MASKED = "A dog sees it.", "A dog <mask> it."


MULTIPLIERS = {"Granite": {"residual_multiplier": 0.3, "embedding_multiplier": 5.0, "logits_scaling": 4.0}}


@cache
def opened(title: str) -> Checkpoint:
    family = family_named(title)
    family = replace(family, settings={**family.settings, **MULTIPLIERS.get(title, {})})
    with TemporaryDirectory() as folder:
        checkpoint = open_checkpoint(make_family(Path(folder) / "model", family))
    assert isinstance(checkpoint, Checkpoint)
    return checkpoint


def text_for(title: str) -> str:
    return MASKED if family_named(title).task == "reading" else TEXT


@pytest.mark.parametrize("title", FAMILIES)
def test_the_parts_lens_shares_and_stations_agree_with_the_library(title: str) -> None:
    checkpoint, text = opened(title), text_for(title)
    followed = follow(checkpoint, text)
    outcome = followed.result.outcomes[-1]
    for rival in outcome.candidates[1:3]:
        found = contributions(followed, outcome.position or 0, rival.id)
        assert found.total == pytest.approx(found.difference, abs=1e-4)
    assert lens_of(checkpoint, text)[1].difference < 1e-5
    shares = influence(followed)
    assert shares.residual < 1e-4
    np.testing.assert_allclose(shares.source.sum(axis=1) + shares.target.sum(axis=1), 1, atol=1e-5)
    assert zeroing_of(checkpoint, text).residual < 1e-4
    for stack in stacks_of(checkpoint.model):
        place = outcome.position if stack.name == outcome.stack else 1
        assert place is not None
        _, path, end = stations_of(checkpoint, text, stack.name, len(stack.streams) - 2, place)
        assert max(station.difference for station in path) < 1e-4
        assert end is None or end.difference < 1e-5


@pytest.mark.parametrize(("title", "norm"), [("GPT-2", "transformer.ln_f"), ("Llama", "model.norm")])
@torch.inference_mode()
def test_the_part_of_a_head_is_what_the_library_adds_less_without_it(title: str, norm: str) -> None:
    # Behind the last attention come only the last norm and the output matrix, besides the feed-forward network.
    checkpoint = opened(title)
    model: Any = checkpoint.model
    followed = follow(checkpoint, TEXT)
    translation = followed.result
    position, layer = len(translation.written) - 1, model.config.num_layers("decoder") - 1
    rival = translation.written[position].candidates[1].id
    found = contributions(followed, position, rival)
    chosen, final = translation.written[position].id, model.model.get_submodule(norm)
    stack = model.stack("decoder")
    x = torch.tensor(followed.recording.array(stack.streams[-1])[position])
    rows = model.model.get_output_embeddings().weight
    for head in range(model.config.num_heads):
        difference = added_by(checkpoint, translation.read, layer, None) - added_by(
            checkpoint, translation.read, layer, head
        )
        part = difference[position]
        if title == "GPT-2":
            held = (part - part.mean()) / (x.var(unbiased=False) + final.eps).sqrt() * final.weight
        else:
            held = part / (x.square().mean() + final.variance_epsilon).sqrt() * final.weight
        expected = float(held @ (rows[chosen] - rows[rival]))
        assert found.heads["decoder"][layer, head] == pytest.approx(expected, abs=1e-4)


def added_by(checkpoint: Checkpoint, read: Sequence[Any], layer: int, silenced: int | None) -> Tensor:
    """What the attention of a layer adds to the stream (T, D), with one head silenced."""

    def silence(heads: Tensor) -> Tensor:
        kept = heads.clone()
        if silenced is not None:
            kept[:, silenced] = 0
        return kept

    name = next(b.added for b in checkpoint.model.stack("decoder").blocks if b.kind and b.layer == layer)
    edits = {hook_name("decoder", layer, "head_outputs"): silence}
    model: Any = checkpoint.model
    with tracing(record=(name,), edits=edits) as trace:
        model.logits(padded_for(model, [[token.id for token in read]]), None)
    return trace.passes(name)[0][0]


@pytest.mark.parametrize(("title", "kind"), [("GPT-2", "decoder"), ("T5", "cross"), ("BERT", "encoder")])
def test_a_zeroed_value_moves_a_layer_as_in_a_run_of_its_own(title: str, kind: str) -> None:
    checkpoint, text, key = opened(title), text_for(title), 1
    found = zeroing_of(checkpoint, text)

    def without_key(values: Tensor) -> Tensor:
        kept = values.clone()
        kept[:, :, key] = 0
        return kept

    stack = checkpoint.model.stack("encoder" if kind == "encoder" else "decoder")
    distances = found.target if kind == "decoder" else found.source
    for layer, name in enumerate(stack.streams[1:]):
        own = stream_of(checkpoint, text, name, {})
        other = stream_of(checkpoint, text, name, {hook_name(kind, layer, "values"): without_key})
        expected = 1 - torch.cosine_similarity(own, other, dim=-1)
        np.testing.assert_allclose(distances[layer, :, key], expected, atol=1e-5)
        assert expected.max() > 1e-5


@torch.inference_mode()
def stream_of(checkpoint: Checkpoint, text: str, name: str, edits: Mapping[str, Edit]) -> Tensor:
    """The stream (T, D) at a hook point, in one pass over everything that the model read."""
    model: Any = checkpoint.model
    found = translate(checkpoint, text)
    source, read = (
        padded_for(model, [[token.id for token in row]]) for row in (found.source or found.read, found.read)
    )
    with tracing(record=(name,), edits=edits) as trace:
        _ = model(source, read) if found.read else model.read(source)
    return trace.passes(name)[0][0].double()


def test_the_shares_of_a_language_model_split_into_prompt_and_own_words() -> None:
    checkpoint = opened("Llama")
    followed = follow(checkpoint, TEXT)
    translation, found = followed.result, influence(followed)
    given = found.given(translation.prompt_length)
    np.testing.assert_allclose(given[: translation.prompt_length + 1], 1, atol=1e-6)  # nothing of its own is read yet
    assert 0 < given[-1] < 1
    np.testing.assert_array_equal(np.triu(found.target, 1), 0)


def test_the_code_beside_a_station_is_that_of_the_library() -> None:
    _, path, _ = stations_of(opened("Llama"), TEXT, "decoder", 0, 1)
    code = {station.name: "\n".join(line.text for part in station.code for line in part) for station in path}
    assert "past_key_values" in code["Self-attention"]
    assert "down_proj" in code["Feed-forward"]
    assert "input_layernorm" in code["Add"]


def test_a_function_without_source_has_no_code() -> None:
    assert function_code(eval("lambda x: x")) == ()

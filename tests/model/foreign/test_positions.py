"""Rotary positions of foreign models: the described rotation is the one that the library uses."""

import pytest
import torch
from torch import Tensor

from model.foreign.models import ForeignLanguageModel, ForeignModel, ForeignReader, ForeignTranslator
from model.interventions import without_positions
from model.network.rotation import Rotation
from model.trace import tracing
from tools.foreign_families import family_named
from tools.small_models import build

WRAPPERS: dict[str, type[ForeignModel]] = {
    "translation": ForeignTranslator,
    "continuation": ForeignLanguageModel,
    "reading": ForeignReader,
}
IDS = torch.tensor([[40, 77, 300, 12, 151]])


def opened(title: str) -> ForeignModel:
    family = family_named(title)
    return WRAPPERS[family.task](build(family, 320))


def rotated_like_the_model(model: ForeignModel, rotation: Rotation, layer: int) -> tuple[Tensor, Tensor]:
    """The queries of a layer as the description rotates them, and as the model does."""
    before: list[Tensor] = []
    projection = model.model.get_submodule(f"model.layers.{layer}.self_attn.q_proj")
    handle = projection.register_forward_hook(lambda _module, _inputs, output: before.append(output.detach()))
    with torch.no_grad(), tracing(record=("*.queries",)) as trace:
        model.model(input_ids=IDS)
    handle.remove()
    rotated = trace.passes(f"decoder.layers.{layer}.self_attention.queries")[0]  # (1, H, T, K)
    return rotation.rotate(before[0].unflatten(-1, (-1, rotated.size(-1))).transpose(1, 2)), rotated


@pytest.mark.parametrize(
    ("title", "pairing", "rotated"), [("Llama", "halves", 8), ("GLM", "neighbours", 4), ("StableLM", "halves", 2)]
)
def test_queries_are_rotated_as_described(title: str, pairing: str, rotated: int) -> None:
    model = opened(title)
    (rotation,) = model.rotations("decoder")
    assert (rotation.pairing, 2 * len(rotation.pairs)) == (pairing, rotated)
    torch.testing.assert_close(*rotated_like_the_model(model, rotation, 1), rtol=1e-4, atol=1e-4)


def test_layers_may_rotate_at_different_speeds_or_not_at_all() -> None:
    local, everywhere = opened("Gemma 3").rotations("decoder")
    assert (local.layers, everywhere.layers) == ((0,), (1,))
    assert (local.frequencies > everywhere.frequencies)[1:].all()
    assert [rotation.layers for rotation in opened("Cohere 2").rotations("decoder")] == [(0,)]


@pytest.mark.parametrize("title", ["GPT-2", "Marian", "T5", "BLOOM", "BERT"])
def test_other_positions_are_no_rotations(title: str) -> None:
    model = opened(title)
    assert model.rotations("encoder" if model.config.num_layers("encoder") else "decoder") == []


@pytest.mark.parametrize(
    ("title", "tables"),
    [
        ("GPT-2", ["transformer.wpe"]),
        ("Marian", ["model.encoder.embed_positions", "model.decoder.embed_positions"]),
        ("BERT", ["bert.embeddings.position_embeddings"]),
        ("OPT, narrow embeddings", ["model.decoder.embed_positions"]),
    ],
)
def test_without_positions_is_a_table_of_zeros(title: str, tables: list[str]) -> None:
    model, untouched = opened(title), build(family_named(title), 320)
    inputs = {"decoder_input_ids": IDS} if untouched.config.is_encoder_decoder else {}
    with torch.no_grad():
        plain = untouched(input_ids=IDS, **inputs).logits
        for table in tables:
            untouched.get_submodule(table).get_parameter("weight").zero_()
        expected = untouched(input_ids=IDS, **inputs).logits
        with tracing(edits=without_positions()):
            found = model.model(input_ids=IDS, **inputs).logits
    torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)
    assert (plain - expected).abs().max() > 1e-2


def test_unknown_positions_are_no_rotations() -> None:
    model = opened("Llama")
    projection = model.model.get_submodule("model.layers.1.self_attn.q_proj")
    projection.register_forward_hook(lambda _module, _inputs, output: output + torch.arange(output.size(1))[:, None])
    assert model.rotations("decoder") == []

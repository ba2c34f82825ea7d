"""How foreign models know positions: the described table, rotation or bias is the one that the library uses."""

import pytest
import torch
from torch import Tensor

from model.foreign.models import ForeignLanguageModel, ForeignModel, ForeignReader, ForeignTranslator
from model.foreign.positions import find_positions
from model.foreign.stacks import ForeignStacks
from model.interventions import without_positions
from model.network.position_kind import Rotation
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


@pytest.mark.parametrize(
    ("title", "path", "first", "kind"),
    [
        ("GPT-2", "transformer.wpe.weight", 0, "learned"),
        ("RoBERTa", "roberta.embeddings.position_embeddings.weight", 1, "learned"),
        ("OPT", "model.decoder.embed_positions.weight", 2, "learned"),
        ("ELECTRA, narrow embeddings", "electra.embeddings.position_embeddings.weight", 0, "learned"),
    ],
)
def test_a_table_starts_at_the_row_of_the_first_token(title: str, path: str, first: int, kind: str) -> None:
    model = opened(title)
    found = model.position_kind(model.config.kinds[0])
    assert found.name == kind
    assert found.table is not None
    torch.testing.assert_close(found.table, model.model.get_parameter(path).detach()[first:])


def test_marian_has_waves_on_both_sides() -> None:
    model = opened("Marian")
    for stack in ("encoder", "decoder"):
        found = model.position_kind(stack)
        assert found.name == "sinusoidal"
        assert found.table is not None
        waves = found.table / found.table[0, 16]  # the random model is sharpened; cos 0 is 1
        torch.testing.assert_close(waves[5, 0], torch.tensor(5.0).sin())
        torch.testing.assert_close(waves[5, 16], torch.tensor(5.0).cos())


def rotated_like_the_model(model: ForeignModel, rotation: Rotation, layer: int) -> tuple[Tensor, Tensor]:
    """The queries of a layer as the description rotates them, and as the model does."""
    before: list[Tensor] = []
    projection = model.model.get_submodule(f"model.layers.{layer}.self_attn.q_proj")
    handle = projection.register_forward_hook(lambda _module, _inputs, output: before.append(output.detach()))
    with torch.no_grad(), tracing(record=("*.queries",)) as trace:
        model.model(input_ids=IDS)
    handle.remove()
    queries = before[0].unflatten(-1, (-1, rotation.width)).transpose(1, 2)  # (1, H, T, K)
    return rotation.rotate(queries), trace.passes(f"decoder.layers.{layer}.self_attention.queries")[0]


@pytest.mark.parametrize(
    ("title", "pairing", "rotated"), [("Llama", "halves", 8), ("GLM", "neighbours", 4), ("StableLM", "halves", 2)]
)
def test_queries_are_rotated_as_described(title: str, pairing: str, rotated: int) -> None:
    model = opened(title)
    found = model.position_kind("decoder")
    (rotation,) = found.rotations
    assert (found.name, rotation.pairing, rotation.rotated) == ("rotary", pairing, rotated)
    torch.testing.assert_close(*rotated_like_the_model(model, rotation, 1), rtol=1e-4, atol=1e-4)


def test_layers_may_rotate_at_different_speeds_or_not_at_all() -> None:
    local, everywhere = opened("Gemma 3").position_kind("decoder").rotations
    assert (local.layers, everywhere.layers) == ((0,), (1,))
    assert (local.frequencies > everywhere.frequencies)[1:].all()
    cohere = opened("Cohere 2").position_kind("decoder")
    assert (cohere.rotations[0].layers, cohere.unaware) == ((0,), (1,))


@pytest.mark.parametrize(("title", "groups"), [("T5", [(0, 1)]), ("UMT5", [(0,), (1,)])])
def test_a_relative_bias_is_the_one_that_is_added_to_the_scores(title: str, groups: list[tuple[int, ...]]) -> None:
    model = opened(title)
    with torch.no_grad(), tracing(record=("*.bias",)) as trace:
        model.model(input_ids=IDS, decoder_input_ids=IDS)
    found = model.position_kind("encoder")
    assert [one.layers for one in found.biases] == groups
    for one in found.biases:
        distances = torch.arange(5)[None, :] - torch.arange(5)[:, None]  # (T, S)
        bias = one.bias[:, distances - one.distances[0]]  # (H, T, S)
        for layer in one.layers:
            torch.testing.assert_close(bias, trace.passes(f"encoder.layers.{layer}.self_attention.bias")[0][0])


@pytest.mark.parametrize("title", ["BLOOM", "MPT"])
def test_the_slopes_of_alibi_are_those_of_the_paper(title: str) -> None:
    model = build(family_named(title), 320)
    ForeignStacks(model, ["decoder"])  # places the hook points
    found = find_positions(model, "decoder", 2)
    assert found.name == "alibi"
    assert found.slopes is not None
    torch.testing.assert_close(found.slopes, torch.tensor([2.0**-2, 2.0**-4, 2.0**-6, 2.0**-8]), rtol=1e-3, atol=1e-4)


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


def test_unknown_positions_are_named_its_own() -> None:
    model = opened("Llama")
    projection = model.model.get_submodule("model.layers.1.self_attn.q_proj")
    projection.register_forward_hook(lambda _module, _inputs, output: output + torch.arange(output.size(1))[:, None])
    found = model.position_kind("decoder")
    assert found.name == "own"
    assert found.sentence == "The model knows the positions in a way that Headlight cannot show."

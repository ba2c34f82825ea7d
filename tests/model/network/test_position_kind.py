"""How our own models know positions, described as for every other model."""

from dataclasses import replace

import pytest
import torch

from model.config.model import ClassifierConfig, ModelConfig, RecurrentConfig
from model.network.classifier import Classifier
from model.network.recurrent import RecurrentTranslator
from model.network.transformer import Transformer
from model.trace import tracing

CONFIG = ModelConfig(
    source_vocab_size=20,
    target_vocab_size=20,
    num_encoder_layers=1,
    num_decoder_layers=1,
    d_model=16,
    num_heads=4,
    d_ff=24,
    max_length=12,
    tie_embeddings="none",
)


@pytest.mark.parametrize("kind", ["sinusoidal", "learned"])
def test_the_table_of_a_translator_is_what_it_adds_to_its_token_vectors(kind: str) -> None:
    model = Transformer(replace(CONFIG, positional=kind)).eval()
    ids = torch.randint(1, 20, (1, 5))
    with torch.no_grad(), tracing() as trace:
        model(ids, ids)
    for name in ("encoder", "decoder"):
        found = model.position_kind(name)
        total, tokens = (trace.passes(f"{name}.embedding.{place}")[0][0] for place in ("sum", "token_vectors"))
        assert found.name == kind
        assert found.table is not None
        torch.testing.assert_close(found.table[:5], total - tokens, atol=1e-5, rtol=1e-5)


def test_the_queries_of_a_rotary_classifier_are_rotated_as_described() -> None:
    model = Classifier(
        ClassifierConfig(
            vocab_size=20,
            num_encoder_layers=2,
            labels=("a", "b"),
            positional="rotary",
            d_model=16,
            num_heads=2,
            d_ff=24,
            max_length=12,
        )
    ).eval()
    with torch.no_grad(), tracing(record=("*.queries",)) as trace:
        model(torch.full((1, 6), 7))  # one token, so all queries are the same before they are rotated
    found = model.position_kind("encoder")
    (rotation,) = found.rotations
    assert (found.name, rotation.layers, rotation.rotated) == ("rotary", (0, 1), 8)
    for layer in rotation.layers:
        queries = trace.passes(f"encoder.layers.{layer}.self_attention.queries")[0]
        torch.testing.assert_close(rotation.rotate(queries[:, :, :1].expand_as(queries)), queries, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize(("kind", "heads"), [("alibi", 4), ("relative", 4), ("relative", 2)])
@torch.no_grad()
def test_the_numbers_for_distances_are_those_that_a_translator_adds_to_its_scores(kind: str, heads: int) -> None:
    model = Transformer(replace(CONFIG, positional=kind, num_heads=heads, num_decoder_layers=2)).eval()
    ids = torch.randint(1, 20, (1, 6))
    with tracing(record=("*.bias",)) as trace:
        model(ids, ids)
    for name in ("encoder", "decoder"):
        found = model.position_kind(name)
        added = trace.passes(f"{name}.layers.0.self_attention.bias")[0][0]  # (H, T, S)
        assert found.name == kind
        if found.slopes is not None:
            expected = -found.slopes[:, None] * torch.arange(5, -1, -1)
        else:
            (bias,) = found.biases
            assert bias.layers == tuple(range(len(getattr(model, name).layers)))
            expected = bias.bias[:, [bias.distances.tolist().index(distance) for distance in range(-5, 1)]]
        torch.testing.assert_close(added[:, -1], expected)
    assert not any("cross" in name for name in trace.names)


def test_a_translator_rotates_queries_in_both_stacks_and_none_in_cross_attention() -> None:
    model = Transformer(replace(CONFIG, positional="rotary")).eval()
    assert model.position_kind("encoder").name == model.position_kind("decoder").name == "rotary"
    cross, x = model.decoder.layers[0].cross_attention.positions, torch.randn(1, 2, 3, 4)
    assert cross.rotate(x, offset=2) is x
    assert cross.bias(3, 3) is None


def test_a_recurrent_model_needs_no_positions() -> None:
    config = RecurrentConfig(source_vocab_size=20, target_vocab_size=20, d_model=16)
    assert RecurrentTranslator(config).position_kind("encoder").name == "recurrence"

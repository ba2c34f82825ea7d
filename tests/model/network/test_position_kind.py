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


def test_a_recurrent_model_needs_no_positions() -> None:
    config = RecurrentConfig(source_vocab_size=20, target_vocab_size=20, d_model=16)
    assert RecurrentTranslator(config).position_kind("encoder").name == "recurrence"

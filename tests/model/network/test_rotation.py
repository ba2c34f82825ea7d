"""Rotary positions of our own models, described as for every other model."""

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
    (rotation,) = model.rotations("encoder")
    assert (rotation.layers, 2 * len(rotation.pairs)) == ((0, 1), 8)
    for layer in rotation.layers:
        queries = trace.passes(f"encoder.layers.{layer}.self_attention.queries")[0]
        torch.testing.assert_close(rotation.rotate(queries[:, :, :1].expand_as(queries)), queries, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("kind", ["sinusoidal", "learned", "alibi", "relative", "none"])
def test_other_positions_are_no_rotations(kind: str) -> None:
    model = Transformer(replace(CONFIG, positional=kind))
    assert [model.rotations(name) for name in ("encoder", "decoder")] == [[], []]


def test_a_translator_rotates_queries_in_both_stacks_and_none_in_cross_attention() -> None:
    model = Transformer(replace(CONFIG, positional="rotary")).eval()
    assert len(model.rotations("encoder")) == len(model.rotations("decoder")) == 1
    cross, x = model.decoder.layers[0].cross_attention.positions, torch.randn(1, 2, 3, 4)
    assert cross.rotate(x, offset=2) is x
    assert cross.bias(3, 3) is None


def test_a_recurrent_model_has_no_rotations() -> None:
    config = RecurrentConfig(source_vocab_size=20, target_vocab_size=20, d_model=16)
    assert RecurrentTranslator(config).rotations("encoder") == []

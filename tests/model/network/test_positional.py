import math

import pytest
import torch

from model.config.model import ClassifierConfig
from model.config.section import ConfigError
from model.network.classifier import Classifier
from model.network.distance_bias import BucketedBias, LinearBias
from model.network.positional import (
    LayerPositions,
    LearnedPositions,
    RotaryPositions,
    SinusoidalPositions,
    sinusoidal_table,
)
from model.trace import tracing
from tests.conftest import make_model


def test_sinusoids_follow_the_formula() -> None:
    table = sinusoidal_table(50, 16)
    for position, pair in [(0, 0), (3, 1), (49, 7)]:
        angle = position / 10_000 ** (2 * pair / 16)
        assert table[position, 2 * pair] == pytest.approx(math.sin(angle), abs=1e-6)
        assert table[position, 2 * pair + 1] == pytest.approx(math.cos(angle), abs=1e-6)


def test_dot_product_of_sinusoids_depends_only_on_the_distance() -> None:
    products = sinusoidal_table(40, 32) @ sinusoidal_table(40, 32).T
    for distance in (1, 5, 20):
        diagonal = products.diagonal(distance)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal), atol=1e-4, rtol=0)


@pytest.mark.parametrize("kind", ["sinusoidal", "learned"])
def test_the_table_of_a_translator_is_what_each_stack_adds_to_its_token_vectors(kind: str) -> None:
    model = make_model(positional=kind)
    ids = torch.randint(4, 50, (1, 5))
    with torch.no_grad(), tracing() as trace:
        model(ids, ids)
    tables = [model.get_submodule(f"{name}.embedding.positions").table for name in ("encoder", "decoder")]
    for name, table in zip(("encoder", "decoder"), tables, strict=True):
        total, tokens = (trace.passes(f"{name}.embedding.{place}")[0][0] for place in ("sum", "token_vectors"))
        torch.testing.assert_close(table[:5], total - tokens, atol=1e-5, rtol=1e-5)
    assert torch.equal(model.position_table(), tables[0])  # that of the encoder


@pytest.mark.parametrize("kind", [SinusoidalPositions, LearnedPositions])
def test_an_offset_continues_at_the_given_position(kind: type) -> None:
    positions = kind(max_length=10, d_model=8)
    x = torch.randn(2, 6, 8)
    whole = positions(x)
    torch.testing.assert_close(positions(x[:, 4:], offset=4), whole[:, 4:])


def test_rotated_vectors_continue_at_the_given_position() -> None:
    turn, x = RotaryPositions(max_length=10, width=8).rotate, torch.randn(2, 3, 6, 8)
    torch.testing.assert_close(turn(x[:, :, 4:], offset=4), turn(x)[:, :, 4:])
    with pytest.raises(ValueError, match=r"11 tokens, .* has 10 positions"):
        turn(x, offset=5)


@pytest.mark.parametrize(
    ("positions", "rotates", "adds"),
    [
        (LayerPositions(), False, False),
        (RotaryPositions(max_length=10, width=8), True, False),
        (LinearBias(num_heads=2), False, True),
        (BucketedBias(num_heads=2, d_model=8, both_sides=True), False, True),
    ],
)
def test_positions_in_a_layer_rotate_or_add_and_never_both(
    positions: LayerPositions, rotates: bool, adds: bool
) -> None:
    x = torch.randn(1, 2, 3, 8)
    assert (not torch.equal(positions.rotate(x, offset=2), x)) == rotates
    bias = positions.bias(3, 5, offset=2)
    assert (bias is not None) == adds
    if bias is not None:
        whole = positions.bias(5, 5)
        assert whole is not None
        assert bias.shape == (1, 2, 3, 5)
        torch.testing.assert_close(bias, whole[:, :, 2:])


@pytest.mark.parametrize("kind", [SinusoidalPositions, LearnedPositions])
def test_a_text_longer_than_the_table_is_refused_with_both_numbers(kind: type) -> None:
    with pytest.raises(ValueError, match=r"11 tokens, .* has 10 positions"):
        kind(max_length=10, d_model=8)(torch.zeros(1, 11, 8))


def test_sinusoids_are_not_stored() -> None:
    assert not SinusoidalPositions(max_length=10, d_model=8).state_dict()
    assert not RotaryPositions(max_length=10, width=8).state_dict()


def test_rotary_positions_rotate_each_pair_like_a_complex_number() -> None:
    x = torch.randn(2, 3, 9, 8, dtype=torch.float64)
    pairs = torch.view_as_complex(x.unflatten(-1, (-1, 2)).contiguous())  # (B, H, T, K/2)
    rates = 10_000.0 ** (-torch.arange(4, dtype=torch.float64) / 4)
    angles = torch.arange(9, dtype=torch.float64)[:, None] * rates  # (T, K/2)
    turned = torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(-2)
    # The waves are kept in float32.
    torch.testing.assert_close(RotaryPositions(max_length=12, width=8).rotate(x), turned, atol=1e-5, rtol=0)


def test_the_product_of_rotated_vectors_depends_only_on_their_distance() -> None:
    torch.manual_seed(0)
    query, key = (torch.randn(8).expand(1, 1, 30, 8) for _ in range(2))
    turn = RotaryPositions(max_length=30, width=8).rotate
    scores = (turn(query) @ turn(key).transpose(-2, -1))[0, 0]  # (T, S)
    for distance in (-20, -1, 0, 1, 5):
        diagonal = scores.diagonal(distance)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal), atol=1e-4, rtol=0)
    assert scores[0].std() > 0.1


def test_a_text_longer_than_the_rotation_is_refused_with_both_numbers() -> None:
    with pytest.raises(ValueError, match=r"11 tokens, .* has 10 positions"):
        RotaryPositions(max_length=10, width=8).rotate(torch.zeros(1, 1, 11, 8))


def rotary(**settings: object) -> ClassifierConfig:
    sizes = {"d_model": 64, "num_heads": 2, "d_ff": 32, "num_encoder_layers": 1, "max_length": 32, "vocab_size": 50}
    return ClassifierConfig.from_dict({**sizes, "labels": ["no", "yes"], "positional": "rotary", **settings})


def test_untrained_rotary_heads_prefer_the_previous_and_the_next_word() -> None:
    torch.manual_seed(0)
    model = Classifier(rotary()).eval()
    ids = torch.randint(4, 50, (1, 20))
    with torch.inference_mode(), tracing(record=("encoder.layers.0.self_attention.weights",)) as trace:
        model(ids)
    before, after = trace.passes("encoder.layers.0.self_attention.weights")[0][0]  # (T, S) each
    assert (before.diagonal(-1) > 0.8).all()
    assert (after.diagonal(1) > 0.8).all()


def test_a_classifier_with_rotary_positions_reads_the_order_and_adds_nothing() -> None:
    torch.manual_seed(0)
    model = Classifier(rotary()).eval()
    assert torch.equal(model.position_table(), sinusoidal_table(32, 32))  # the turn of each pair of a head's numbers
    with torch.inference_mode(), tracing(record=("encoder.embedding.*",)) as trace:
        first = model(torch.tensor([[5, 6, 7]]))
    with torch.inference_mode():
        second = model(torch.tensor([[7, 6, 5]]))
    vectors, total = (trace.passes(f"encoder.embedding.{name}")[0] for name in ("token_vectors", "sum"))
    assert torch.equal(vectors, total)
    assert (first - second).abs().max() > 1e-3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"d_model": 6, "num_heads": 2}, r"width of a head is 3 .* must be even"),
        ({"max_length": 1}, "max_length is 1; rotary positions need at least 2"),
        ({"attention": "additive"}, "attention is 'additive'; rotary positions need \"scaled_dot_product\""),
    ],
)
def test_sizes_that_cannot_be_rotated_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        rotary(**settings)

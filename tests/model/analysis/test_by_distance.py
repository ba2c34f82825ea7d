import numpy as np
import pytest
import torch

from model.analysis.positions import score_by_distance, weight_by_distance
from model.network.attention import MultiHeadAttention
from model.network.distance_bias import BucketedBias
from model.network.positional import RotaryPositions
from model.trace import tracing

REACH = 5


@pytest.fixture
def attention() -> MultiHeadAttention:
    torch.manual_seed(0)
    layer = MultiHeadAttention(
        d_model=16, num_heads=2, dropout=0.0, positions=RotaryPositions(max_length=40, width=8)
    ).double()
    for projection in (layer.query_projection, layer.key_projection):
        torch.nn.init.normal_(projection.bias)
    return layer.eval()


def test_the_score_by_distance_is_the_layers_score_for_empty_vectors(attention: MultiHeadAttention) -> None:
    with torch.inference_mode(), tracing(record=("scores",)) as trace:
        attention.scores.name = "scores"
        attention(torch.zeros(1, 40, 16, dtype=torch.float64))
    scores = trace.passes("scores")[0][0].numpy()  # (H, T, S)
    found = score_by_distance(attention, REACH)
    assert found.shape == (2, 2 * REACH + 1)
    for query in (REACH, 17, 40 - REACH - 1):
        # The waves are kept in float32.
        np.testing.assert_allclose(found, scores[:, query, query - REACH : query + REACH + 1], atol=1e-5)
    assert np.ptp(found, axis=1).min() > 0.1


@torch.no_grad()
def test_the_numbers_that_a_layer_adds_are_its_scores_by_distance() -> None:
    positions = BucketedBias(num_heads=2, d_model=1, both_sides=True)
    layer = MultiHeadAttention(d_model=16, num_heads=2, dropout=0.0, positions=positions).eval()
    found = score_by_distance(layer, REACH)
    np.testing.assert_array_equal(found, positions.bias(20, 20)[0, :, 9, 9 - REACH : 10 + REACH].numpy())


def test_a_reach_beyond_the_positions_is_refused(attention: MultiHeadAttention) -> None:
    with pytest.raises(ValueError, match="41 tokens, but this model has 40 positions"):
        score_by_distance(attention, 20)


def test_the_weight_by_distance_is_a_mean_over_queries_with_a_key_there() -> None:
    maps = np.array([[[0.5, 0.3, 0.2], [0.6, 0.3, 0.1], [0.1, 0.8, 0.1]]], dtype=np.float32)
    np.testing.assert_allclose(weight_by_distance(maps, 2), [[0.1, 0.7, 0.3, 0.2, 0.2]], atol=1e-6)
    np.testing.assert_allclose(weight_by_distance(maps, 0), [[0.3]], atol=1e-6)

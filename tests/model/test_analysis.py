import numpy as np
import pytest

from model.analysis import cosine_similarity, merge_tokens


def test_merging_adds_up_keys_and_averages_queries() -> None:
    weights = np.array([[0.5, 0.3, 0.2], [0.1, 0.7, 0.2], [0.0, 0.4, 0.6]], dtype=np.float32)
    merged = merge_tokens(weights, [0, 0, 1], [0, 1, 1])
    np.testing.assert_allclose(merged, [[0.3, 0.7], [0.0, 1.0]], atol=1e-6)


def test_merging_keeps_row_sums_and_order_of_heads() -> None:
    rng = np.random.default_rng(0)
    maps = rng.dirichlet(np.ones(5), size=(2, 3, 6)).astype(np.float32)
    merged = merge_tokens(maps, [0, 1, 1, 2, 3, 3], [0, 0, 1, 2, 2])
    assert merged.shape == (2, 3, 4, 3)
    np.testing.assert_allclose(merged.sum(-1), 1.0, atol=1e-6)
    np.testing.assert_allclose(merged[1, 2, 0, 1], maps[1, 2, 0, 2], atol=1e-7)


def test_cosine_of_known_vectors() -> None:
    vectors = np.array([[1, 0], [0, 2], [3, 3], [0, 0]], dtype=np.float32)
    cosine = cosine_similarity(vectors)
    assert cosine[0, 1] == 0
    assert cosine[0, 2] == pytest.approx(2**-0.5, abs=1e-6)
    assert cosine[1, 1] == pytest.approx(1.0)
    assert not cosine[3].any()

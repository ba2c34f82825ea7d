import numpy as np
import pytest

from model.analysis.statistics import (
    cosine_similarity,
    entropy,
    head_metrics,
    mean_over_queries,
    merge_tokens,
    moved_weight,
    rank_agreement,
    rollout,
    strongest,
    suggested_role,
    translation_rollout,
)


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


def test_entropy_is_zero_for_one_key_and_ln_n_for_all_keys_equally() -> None:
    rows = np.array([[1, 0, 0, 0], [0.25, 0.25, 0.25, 0.25], [0.5, 0.5, 0, 0]], dtype=np.float32)
    np.testing.assert_allclose(entropy(rows), [0, np.log(4), np.log(2)], atol=1e-6)


def test_the_strongest_cells_are_sorted_by_weight() -> None:
    weights = np.array([[0.1, 0.9], [0.6, 0.4]], dtype=np.float32)
    assert [(t, s) for t, s, _ in strongest(weights, 3)] == [(0, 1), (1, 0), (1, 1)]
    assert strongest(weights, 1)[0][2] == pytest.approx(0.9)


def test_rollout_of_two_layers_by_hand() -> None:
    """Abnar and Zuidema 2020, equations 1 and 2: Ã = (A₂ + I)/2 · (A₁ + I)/2."""
    first = np.array([[[1, 0], [0.5, 0.5]]])
    second = np.array([[[0, 1], [0, 1]]])
    found = rollout(np.stack([first, second]).astype(np.float32))
    np.testing.assert_allclose(found[0], [[1, 0], [0.25, 0.75]])
    np.testing.assert_allclose(found[1], np.array([[0.5, 0.5], [0, 1]]) @ np.array([[1, 0], [0.25, 0.75]]))


def test_rollout_averages_heads_and_keeps_rows_summing_to_one() -> None:
    maps = random_maps(3, 4, 6, 6)
    np.testing.assert_allclose(rollout(maps).sum(axis=-1), 1, atol=1e-5)
    np.testing.assert_allclose(rollout(maps)[0], (maps[0].mean(axis=0) + np.eye(6)) / 2, atol=1e-6)


def test_translation_rollout_by_hand_and_as_shares_of_one_whole() -> None:
    encoder, cross = random_maps(2, 3, 5, 5), random_maps(2, 3, 4, 5)
    decoder = random_maps(2, 3, 4, 4) * np.tri(4, dtype=np.float32)
    decoder /= decoder.sum(axis=-1, keepdims=True)
    target, source = translation_rollout(encoder, decoder, cross)
    np.testing.assert_allclose(target.sum(-1) + source.sum(-1), 1, atol=1e-5)
    own = (decoder[0].mean(0) + np.eye(4)) / 2
    np.testing.assert_allclose(target[0], own / 2, atol=1e-6)
    np.testing.assert_allclose(source[0], cross[0].mean(0) @ rollout(encoder)[-1] / 2, atol=1e-6)
    assert np.triu(target[1], 1).max() == 0  # nothing of what was not yet read


def random_maps(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.ones(shape[-1]), size=shape[:-1]).astype(np.float32)


def test_metrics_of_heads_with_one_role_each() -> None:
    previous = np.eye(4, k=-1) + np.array([[1, 0, 0, 0]] + 3 * [[0] * 4])
    following = np.eye(4, k=1) + np.array(3 * [[0] * 4] + [[0, 0, 0, 1]])
    to_the_end = np.tile([0, 0, 0, 1.0], (4, 1))
    even = np.full((4, 4), 0.25)
    maps = np.stack([previous, np.eye(4), following, to_the_end, even])[None].astype(
        np.float32
    )  # one layer, five heads
    found = mean_over_queries([head_metrics(maps, aligned=True, special_key=3)])
    np.testing.assert_allclose(found["previous"][0], [1, 0, 0, 0, 0.25], atol=1e-6)
    np.testing.assert_allclose(found["same"][0], [0.25, 1, 0.25, 0.25, 0.25], atol=1e-6)
    np.testing.assert_allclose(found["next"][0], [0, 0, 1, 1 / 3, 0.25], atol=1e-6)
    np.testing.assert_allclose(found["end"][0, [3, 4]], [1, 0.25], atol=1e-6)
    np.testing.assert_allclose(found["distance"][0], [0.75, 0, 0.75, 1.5, 1.25], atol=1e-6)
    np.testing.assert_allclose(found["confidence"][0], [1, 1, 1, 1, 0.25], atol=1e-6)
    roles = [suggested_role({metric: float(values[0, head]) for metric, values in found.items()}) for head in range(5)]
    assert roles == ["previous", "same", "next", "end", ""]


def test_metrics_are_averaged_over_all_queries_without_nan() -> None:
    short, long = random_maps(1, 1, 2, 2), random_maps(1, 1, 6, 6)
    parts = [head_metrics(maps, aligned=True, special_key=-1) for maps in (short, long)]
    found = mean_over_queries(parts)
    every = np.concatenate([entropy(short).ravel(), entropy(long).ravel()])
    assert found["entropy"][0, 0] == pytest.approx(every.mean(), rel=1e-5)
    before = [short[0, 0, 1, 0], *(long[0, 0, t, t - 1] for t in range(1, 6))]
    assert found["previous"][0, 0] == pytest.approx(np.mean(before), rel=1e-5)
    cross = mean_over_queries([head_metrics(random_maps(1, 1, 3, 5), aligned=False, special_key=-1)])
    assert np.isnan(cross["distance"]).all()
    assert np.isnan(cross["previous"]).all()


def test_ties_share_a_rank() -> None:
    first, second = (np.repeat(np.array([row], dtype=np.float32), 3, axis=0) for row in ([0, 0, 0, 1], [3, 2, 1, 4]))
    assert rank_agreement(first, second)[0] == pytest.approx(0.7746, abs=1e-4)
    assert np.isnan(rank_agreement(np.zeros_like(first), second)[0])


def test_a_sink_changes_neither_entropy_nor_distance_and_an_unchanged_map_moves_nothing() -> None:
    whole = np.array([[[[1.0, 0.0], [0.25, 0.75]]]], dtype=np.float32)  # (1, 1, 2, 2)
    with_sink = whole * 0.4
    expected = head_metrics(whole, aligned=True, special_key=0)
    found = head_metrics(with_sink, aligned=True, special_key=0)
    for name in ("entropy", "distance"):
        np.testing.assert_allclose(found[name], expected[name], atol=1e-6)
    np.testing.assert_allclose(found["same"], 0.4 * expected["same"], atol=1e-6)
    np.testing.assert_allclose(moved_weight(with_sink, with_sink), 0, atol=1e-7)
    np.testing.assert_allclose(moved_weight(with_sink, np.zeros_like(whole)), 0.4, atol=1e-6)

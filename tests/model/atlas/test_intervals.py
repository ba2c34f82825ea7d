from math import exp, factorial

import numpy as np
import pytest

from model.atlas.measuring import poisson_weights
from model.atlas.store import estimates
from model.atlas.tally import KindTally, rounded, weighted_sums
from model.corpora.hashing import uniform_bits


def tally_of(values: np.ndarray, rows: np.ndarray, *, seed: int, replicates: int = 400) -> KindTally:
    """A tally of one number of one head: a sum and a number of rows for each text."""
    every = np.concatenate(
        [np.ones((1, len(values)), np.int64), poisson_weights(seed, np.arange(len(values)), replicates)]
    )
    sums = weighted_sums(every, rounded(values)[:, None]).reshape(-1, 1, 1, 1)
    nothing = np.zeros((1, 1, 0), np.int64)
    return KindTally(
        sums=sums,
        counts=every @ rows[:, None],
        texts=(rows > 0).sum(keepdims=True),
        profile=nothing,
        writes=nothing[..., None],
        rows=np.zeros(4, np.int64),
    )


def test_weights_of_the_bootstrap_have_the_poisson_distribution() -> None:
    weights = poisson_weights(3, np.arange(2000), 200)
    shares = np.bincount(weights.ravel(), minlength=6)[:6] / weights.size
    expected = [exp(-1) / factorial(k) for k in range(6)]
    np.testing.assert_allclose(shares, expected, atol=4e-3)
    assert abs(np.corrcoef(weights[:50])[np.triu_indices(50, 1)]).max() < 0.12  # replicates are independent


def test_a_weight_depends_only_on_the_seed_the_line_and_the_replicate() -> None:
    whole = poisson_weights(5, np.arange(100), 50)
    np.testing.assert_array_equal(poisson_weights(5, [70, 3], 20), whole[:20, [70, 3]])
    assert (poisson_weights(6, np.arange(100), 50) != whole).any()


def test_the_hash_has_no_two_equal_numbers_and_fair_bits() -> None:
    bits = uniform_bits(0, np.arange(300)[:, None], np.arange(100)[None])
    assert len(np.unique(bits)) == bits.size
    shares = np.unpackbits(bits.view(np.uint8)).reshape(-1, 64).mean(axis=0)
    np.testing.assert_allclose(shares, 0.5, atol=0.02)


def test_intervals_contain_the_mean_of_a_known_distribution() -> None:
    """Texts of different lengths whose rows have the mean 0.3: about 95 of 100 intervals contain it."""
    draws, inside = np.random.default_rng(0), 0
    for seed in range(200):
        rows = draws.integers(1, 20, size=60)
        values = np.array([draws.beta(0.6, 1.4, size=count).sum() for count in rows])
        mean, low, high = estimates(tally_of(values, rows, seed=seed))[0, 0, 0]
        assert low <= mean <= high
        inside += low <= 0.3 <= high
    assert 180 <= inside <= 199


def test_no_number_without_rows_and_no_interval_from_one_text() -> None:
    values, nothing = np.array([0.5, 0.0, 0.0]), np.zeros(3, np.int64)
    assert np.isnan(estimates(tally_of(values, nothing, seed=0))).all()
    mean, low, high = estimates(tally_of(values, np.array([2, 0, 0]), seed=0))[0, 0, 0]
    assert mean == pytest.approx(0.25, abs=1e-6)
    assert np.isnan([low, high]).all()


@pytest.mark.parametrize("scale", [1, 2**45], ids=["small", "beyond exact doubles"])
def test_weighted_sums_are_exact(scale: int) -> None:
    draws = np.random.default_rng(1)
    weights, values = draws.integers(0, 9, size=(7, 40)), draws.integers(-100, 100, size=(40, 5)) * scale + 1
    expected = [[sum(int(w) * int(v) for w, v in zip(row, column, strict=True)) for column in values.T]
                for row in weights]  # fmt: skip
    np.testing.assert_array_equal(weighted_sums(weights, values), expected)

import numpy as np

from model.atlas.places import PLACE, SIZES, STRONGEST, Places, kept
from model.corpora.hashing import uniform_bits


def rows_of(strongest: np.ndarray) -> Places:
    """Rows of one head, one per line, in the group of their strongest weight."""
    rows = np.zeros(len(strongest), PLACE)
    rows["line"], rows["group"] = np.arange(len(rows)), np.minimum(strongest * 10, 9).astype(int)
    rows["order"] = uniform_bits(0, rows["line"], rows["row"])
    return rows


def test_a_rare_behaviour_stays_among_a_hundred_thousand_rows() -> None:
    strongest = np.full(100_000, 0.95)
    strongest[[777, 50_123, 99_998]] = 0.15
    found = kept(rows_of(strongest))
    assert found["line"][found["group"] == 1].tolist() == sorted(
        [777, 50_123, 99_998], key=lambda line: int(uniform_bits(0, line, 0))
    )
    assert (found["group"] == 9).sum() == SIZES[9]


def test_any_split_and_order_keeps_the_same_rows() -> None:
    draws = np.random.default_rng(0)
    rows = rows_of(draws.random(5_000))
    rows["head"] = draws.integers(3, size=len(rows))
    rows["group"][::7] = STRONGEST
    whole = kept(rows)
    parts = [kept(part) for part in np.array_split(rows[draws.permutation(len(rows))], 11)]
    merged = parts[0]
    for part in parts[1:]:
        merged = kept(np.concatenate([part, merged]))
    np.testing.assert_array_equal(merged, whole)
    assert kept(whole).tobytes() == whole.tobytes()


def test_a_reservoir_is_a_fair_sample() -> None:
    """Each tenth of the corpus has the same share of the kept rows."""
    drawn = np.concatenate(
        [kept(rows)["line"] for seed in range(300) for rows in [reseeded(rows_of(np.full(1_000, 0.5)), seed)]]
    )
    shares = np.histogram(drawn, bins=10, range=(0, 1_000))[0] / len(drawn)
    np.testing.assert_allclose(shares, 0.1, atol=0.025)


def reseeded(rows: Places, seed: int) -> Places:
    rows["order"] = uniform_bits(seed, rows["line"], rows["row"])
    return rows

import numpy as np
import pytest

from model.analysis.positions import (
    distances,
    dot_products,
    encoding_properties,
    rotation,
    rotation_error,
    wavelengths,
)
from model.network.positional import sinusoidal_table

TABLE = sinusoidal_table(64, 32).numpy()


def test_wavelengths_are_where_the_waves_repeat() -> None:
    lengths = wavelengths(32, 10_000.0)
    assert lengths[0] == pytest.approx(2 * np.pi)
    assert lengths[-1] == pytest.approx(2 * np.pi * 10_000 ** (30 / 32), rel=1e-5)
    # After half a wavelength a sine has the opposite sign.
    base = (8 / (2 * np.pi)) ** (32 / 4)  # dimensions 4 and 5 repeat every 8 positions
    assert wavelengths(32, base)[2] == pytest.approx(8, rel=1e-4)
    table = sinusoidal_table(20, 32, base=base).numpy()
    np.testing.assert_allclose(table[8:, 4], table[:-8, 4], atol=1e-5)
    np.testing.assert_allclose(table[4:, 5], -table[:-4, 5], atol=1e-5)


def test_distances_and_products_by_hand() -> None:
    table = np.array([[0, 0], [3, 4], [3, 0]], dtype=np.float32)
    np.testing.assert_allclose(distances(table), [[0, 5, 3], [5, 0, 4], [3, 4, 0]], atol=1e-6)
    np.testing.assert_allclose(dot_products(table), [[0, 0, 0], [0, 25, 9], [0, 9, 9]])


@pytest.mark.parametrize("shift", [0, 1, 7, 30])
def test_one_rotation_shifts_every_position(shift: int) -> None:
    matrix = rotation(32, 10_000.0, shift)
    np.testing.assert_allclose(matrix @ matrix.T, np.eye(32), atol=1e-6)
    assert np.linalg.det(matrix) == pytest.approx(1, abs=1e-4)
    assert rotation_error(TABLE, matrix, shift) < 1e-5
    assert rotation_error(TABLE, rotation(32, 10_000.0, shift + 1), shift) > 0.1


def test_sinusoids_have_all_four_properties() -> None:
    assert [p.holds for p in encoding_properties(TABLE, has_formula=True)] == [True] * 4


def test_a_table_without_a_property_fails_its_test() -> None:
    generator = np.random.default_rng(0)
    learned = generator.normal(size=(32, 16)).astype(np.float32)
    learned[5] = learned[9]
    assert [p.holds for p in encoding_properties(learned, has_formula=False)] == [False] * 4
    counting = np.arange(32, dtype=np.float32)[:, None]  # unique and consistent, but it grows
    assert [p.holds for p in encoding_properties(counting, has_formula=True)] == [True, False, True, True]

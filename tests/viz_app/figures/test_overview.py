"""The overview shows every head, also of a long text, in cells that a screen has pixels for."""

import numpy as np
import pytest

from tests.viz_app.figures.random_maps import random_maps
from viz_app.components.mounting import pooled
from viz_app.content.shared import MAX_TILE


def test_pooling_keeps_small_maps_and_the_maxima_of_large_ones() -> None:
    small = random_maps(1, 2, 7, 9)
    np.testing.assert_array_equal(pooled(small), small)
    large = np.zeros((1, 1, 130, 101), dtype=np.float32)
    large[0, 0, 129, 100] = 0.9
    assert pooled(large).shape[2] <= MAX_TILE
    assert pooled(large)[0, 0, -1, -1] == np.float32(0.9)
    assert pooled(large).sum() == pytest.approx(0.9)

"""The overview shows every head in its own tile."""

import base64
import io

import numpy as np
import pytest
from PIL import Image
from plotly.colors import hex_to_rgb, sample_colorscale

from tests.viz_app.figures.random_maps import random_maps
from viz_app.content.shared import MAX_TILE
from viz_app.figures.colours import MASKED, NOT_A_NUMBER
from viz_app.figures.overview import heads_image, pooled


def pixels(image: str) -> np.ndarray:
    """The pixels of an image, (rows, columns, 4)."""
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(image.partition(",")[2]))).convert("RGBA"))


def test_every_head_has_a_tile_of_one_image() -> None:
    maps = random_maps(2, 3, 4, 5)
    drawn = pixels(heads_image(maps, np.ones(maps[:, 0].shape, dtype=bool)))
    assert drawn.shape == (2 * (4 + 1), 3 * (5 + 1), 4)
    for layer, head in np.ndindex(2, 3):
        tile = drawn[5 * layer : 5 * layer + 4, 6 * head : 6 * head + 5]
        colours = sample_colorscale("Viridis", maps[layer, head].ravel().tolist())
        wanted = np.array([[float(n) for n in c[4:-1].split(",")] for c in colours]).reshape(4, 5, 3)
        np.testing.assert_allclose(tile[..., :3], wanted, atol=2)
    assert (drawn[..., 3] == 0).sum() == drawn[..., 3].size - maps.size  # the gutters are clear


def test_masked_cells_of_every_tile_are_grey_and_others_that_are_not_finite_have_their_own_colour() -> None:
    maps = random_maps(2, 3, 4, 4)
    maps[0, 0, 3, 0] = maps[0, 0, 0, 3] = np.nan  # the second one is masked
    mask = np.tri(4, dtype=bool)
    drawn = pixels(heads_image(maps, mask[None].repeat(len(maps), axis=0)))
    grey = (drawn[..., :3] == hex_to_rgb(MASKED)).all(axis=-1) & (drawn[..., 3] == 255)
    assert grey.sum() == 2 * 3 * (~mask).sum()
    np.testing.assert_array_equal(grey[:4, :4], ~mask)
    broken = (drawn[..., :3] == hex_to_rgb(NOT_A_NUMBER)).all(axis=-1)
    assert np.argwhere(broken).tolist() == [[3, 0]]


def test_pooling_keeps_small_maps_and_the_maxima_of_large_ones() -> None:
    small = random_maps(1, 2, 7, 9)
    np.testing.assert_array_equal(pooled(small), small)
    large = np.zeros((1, 1, 130, 101), dtype=np.float32)
    large[0, 0, 129, 100] = 0.9
    assert pooled(large).shape[2] <= MAX_TILE
    assert pooled(large)[0, 0, -1, -1] == np.float32(0.9)
    assert pooled(large).sum() == pytest.approx(0.9)

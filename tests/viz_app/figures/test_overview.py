"""The overview shows every head in its own tile."""

import base64
import io

import numpy as np
import plotly.graph_objects as go
import pytest
from PIL import Image
from plotly.colors import hex_to_rgb, sample_colorscale

from tests.viz_app.figures.random_maps import AXES, random_maps
from viz_app.content.limits import MAX_TILE
from viz_app.figures.colours import MASKED
from viz_app.figures.overview import overview, pooled


def pixels(image: go.Image) -> np.ndarray:
    """The pixels of an image, (rows, columns, 4)."""
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(image.source.partition(",")[2]))))


def test_every_head_has_a_tile_of_one_image() -> None:
    maps = random_maps(2, 3, 4, 5)
    figure = overview(maps, AXES, np.ones(maps[:, 0].shape, dtype=bool), chosen=(1, 2), height=300).figure
    canvas, squares = figure.data
    assert [type(trace) for trace in figure.data] == [go.Image, go.Scatter]
    drawn = pixels(canvas)
    for (layer, head), x, y in zip(squares.customdata, squares.x, squares.y, strict=True):
        top, left = round(y - 1.5), round(x - 2)
        tile = drawn[top : top + 4, left : left + 5]
        colours = sample_colorscale("Viridis", maps[layer, head].ravel().tolist())
        wanted = np.array([[float(n) for n in c[4:-1].split(",")] for c in colours]).reshape(4, 5, 3)
        np.testing.assert_allclose(tile[..., :3], wanted, atol=2)
    assert (drawn[..., 3] == 0).sum() == drawn[..., 3].size - maps.size  # the gutters are clear


@pytest.mark.parametrize(("chosen", "framed"), [((1, 2), [(1, 2)]), ((0, None), [(0, 0), (0, 1), (0, 2)])])
def test_a_frame_surrounds_the_chosen_head_or_its_whole_layer(
    chosen: tuple[int, int | None], framed: list[tuple[int, int]]
) -> None:
    maps = random_maps(2, 3, 4, 5)
    drawn = overview(maps, AXES, np.ones(maps[:, 0].shape, dtype=bool), chosen=chosen, height=300).figure
    squares, frame = drawn.data[1], drawn.layout.shapes[0]
    inside = [
        tuple(tile)
        for tile, x, y in zip(squares.customdata, squares.x, squares.y, strict=True)
        if frame.x0 < x < frame.x1 and frame.y0 < y < frame.y1
    ]
    assert inside == framed


def test_masked_cells_of_every_tile_are_grey() -> None:
    maps = random_maps(2, 3, 4, 4)
    mask = np.tri(4, dtype=bool)
    drawn = pixels(overview(maps, AXES, mask[None].repeat(len(maps), axis=0), chosen=(0, 0), height=300).figure.data[0])
    grey = (drawn[..., :3] == hex_to_rgb(MASKED)).all(axis=-1) & (drawn[..., 3] == 255)
    assert grey.sum() == 2 * 3 * (~mask).sum()
    np.testing.assert_array_equal(grey[:4, :4], ~mask)


def test_pooling_keeps_small_maps_and_the_maxima_of_large_ones() -> None:
    small = random_maps(1, 2, 7, 9)
    np.testing.assert_array_equal(pooled(small), small)
    large = np.zeros((1, 1, 130, 101), dtype=np.float32)
    large[0, 0, 129, 100] = 0.9
    assert pooled(large).shape[2] <= MAX_TILE
    assert pooled(large)[0, 0, -1, -1] == np.float32(0.9)
    assert pooled(large).sum() == pytest.approx(0.9)

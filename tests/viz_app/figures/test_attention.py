"""A map shows the exact numbers, queries in rows and keys in columns."""

import numpy as np

from tests.viz_app.figures.random_maps import AXES, random_maps
from viz_app.figures import heat_maps
from viz_app.figures.colours import MASKED
from viz_app.figures.heat_maps import head_map

OPEN = np.ones((3, 2), dtype=bool)


def test_a_map_has_the_exact_numbers_and_names_query_and_key() -> None:
    maps = random_maps(1, 1, 3, 2)[0, 0]
    figure = head_map(maps, AXES, OPEN, height=300).figure
    heatmap = figure.data[0]
    np.testing.assert_array_equal(heatmap.z, maps)
    assert (heatmap.zmin, heatmap.zmax) == (0, 1)
    assert figure.layout.yaxis.autorange == "reversed"  # the first query is on top
    assert figure.layout.yaxis.title.text == "query: written"
    assert figure.layout.xaxis.title.text == "key: source"


def test_masked_cells_are_grey_in_masks_scores_and_weights() -> None:
    mask = np.tri(3, 2, dtype=bool)
    figure = heat_maps.mask_map(mask, AXES, height=200).figure
    np.testing.assert_array_equal(figure.data[0].z, mask)
    scores = np.where(mask, np.float32(1.5), np.float32("-inf"))
    weights_picture = head_map(np.where(mask, np.float32(0.5), np.float32(0)), AXES, mask, height=200)
    for picture in (heat_maps.score_map(scores, AXES, bound=2.0, height=200), weights_picture):
        numbers, grey = picture.figure.data
        np.testing.assert_array_equal(np.isnan(numbers.z), ~mask)
        np.testing.assert_array_equal(np.isnan(grey.z), mask)
        assert {colour for _, colour in grey.colorscale} == {MASKED}

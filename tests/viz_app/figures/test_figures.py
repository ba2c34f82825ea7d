"""Every kind of figure: Plotly accepts it, it is small enough to send, and it has a table and a summary."""

import json
import re

import numpy as np
import plotly.graph_objects as go
import pytest

from tests.viz_app.figures.random_maps import random_maps
from viz_app.components.mounting import tiles
from viz_app.content.shared import MAX_TILE
from viz_app.figures import grids, heat_maps, lines, vectors
from viz_app.figures.picture import Picture
from viz_app.figures.style import Axes


def pictures(rows: int, columns: int) -> dict[str, Picture]:
    """One picture of each kind, from a map with so many rows and columns."""
    maps = random_maps(3, 8, rows, columns)
    one, table = maps[0, 0], maps[0, 0] - np.float32(0.5)
    named = Axes(
        queries=[f"a{i % 7}" for i in range(rows)], keys=[f"b{i % 9}" for i in range(columns)], query_title="query",
        key_title="key",
    )  # fmt: skip
    mask = np.tri(rows, columns, dtype=bool)
    scores = np.where(mask, table, np.float32("-inf"))
    return {
        "head": heat_maps.head_map(one, named, mask, height=300),
        "mask": heat_maps.mask_map(mask, named, height=300),
        "scores": heat_maps.score_map(scores, named, bound=2.0, height=300),
        "grids": grids.head_grids({"x": maps[:, :, 0, 0], "y": maps[:, :, 0, 1]}, unit="nats", height=300),
        "signed grids": grids.head_grids({"x": maps[:, :, 0, 0]}, unit="nats", signed=True, height=300),
        "word grid": grids.word_grid([named.keys] * rows, one, named, notes=[["noted"] * columns] * rows, height=300),
        "shares": lines.stacked_shares({"a": one[0], "b": 1 - one[0]}, named.keys, title="word", height=300),
        "matrix": vectors.matrix(table, height=300),
        "by distance": lines.by_distance(one[:, : one.shape[1] - 1 + one.shape[1] % 2], unit="weight", height=300),
        "curves": lines.dimensions(table, {0: "one", 1: "two"}, height=300),
        "wavelengths": lines.wavelengths(np.geomspace(6, 6e4, columns), longest_text=64, height=300),
        "bits": vectors.bits(mask.astype(np.uint8), columns="digit", height=300),
        "pairs": vectors.pairs(one, unit="distance", height=300),
        "rotation": vectors.rotation(table, height=300),
        "similarity": vectors.similarity(table, height=300),
        "tokens": vectors.rows(table, named, unit="value", bound=1.0, height=300),
        "training": lines.curves([1, 2], {"training": [4.0, 3.0]}, title="loss", height=300),
        "query and keys": vectors.query_and_keys(table[0], table, named, height=300),
        "sum": vectors.sum_of_rows(table, table[0], named, height=300),
        "concatenation": vectors.concatenation(table[0, :4], table[0, :4], heads=2, chosen=1, height=300),
    }


@pytest.mark.parametrize("name", pictures(3, 4))
def test_plotly_knows_every_setting_of_every_figure(name: str) -> None:
    figure = pictures(3, 4)[name].figure
    go.Figure(figure.to_dict())  # raises ValueError where it does not
    axes = [figure.layout.xaxis, figure.layout.yaxis]
    assert all(font.size >= 14 for axis in axes for font in (axis.title.font, axis.tickfont))


def test_a_figure_of_the_longest_text_fits_into_a_message() -> None:
    longest = pictures(256, 256)
    longest["word grid"] = pictures(MAX_TILE, MAX_TILE)["word grid"]  # its page takes no more
    sizes = {name: len(picture.figure.to_json()) / 1e6 for name, picture in longest.items()}  # MB
    assert max(sizes.values()) < 1.5, sizes


def test_no_label_of_a_layer_is_on_another() -> None:
    large = grids.head_grids({"x": np.zeros((24, 16), dtype=np.float32)}, unit="nats", height=300).figure
    assert large.layout.height - grids.OUTSIDE >= 24 * 15
    small = grids.head_grids({"x": np.zeros((6, 8), dtype=np.float32)}, unit="nats", height=300).figure
    assert small.layout.height == 300


@pytest.mark.parametrize("name", pictures(3, 4))
def test_every_picture_has_a_table_and_a_summary(name: str) -> None:
    picture = pictures(3, 4)[name]
    table = picture.table()
    assert table.size, "the table has cells"
    assert table.index.is_unique
    assert table.columns.is_unique
    assert picture.summary.endswith(".")
    assert re.search(r"\d", picture.summary), "the summary names a number"


def test_numbers_are_sent_as_binary_arrays() -> None:
    maps = random_maps(3, 8, 20, 20)
    for picture in (vectors.matrix(maps[0, 0], height=200), vectors.similarity(maps[0, 0], height=200)):
        assert json.loads(picture.figure.to_json())["data"][0]["z"]["dtype"] == "f4"
    sent = tiles(maps, np.ones(maps[:, 0].shape, dtype=bool))
    assert len(str(sent["levels"])) < 13_000


def test_the_scale_of_an_encoding_is_symmetric_about_zero() -> None:
    table = np.array([[0.5, -2.0], [1.0, 0.0]], dtype=np.float32)
    heatmap = vectors.matrix(table, height=200).figure.data[0]
    assert (heatmap.zmin, heatmap.zmax) == (-2.0, 2.0)
    figure = lines.dimensions(table, {1: "one"}, height=200).figure
    np.testing.assert_array_equal(figure.data[0].y, table[:, 1])


def test_training_curves_have_a_legend_only_for_several_series() -> None:
    one = lines.curves([1, 2], {"validation": [3.0, 2.0]}, title="BLEU", height=200).figure
    two = lines.curves([1, 2], {"training": [4.0, 3.0], "validation": [3.0, 2.0]}, title="loss", height=200).figure
    assert (one.layout.showlegend, two.layout.showlegend) == (False, True)
    assert list(two.data[1].y) == [3.0, 2.0]

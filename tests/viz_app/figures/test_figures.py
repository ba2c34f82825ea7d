"""Every kind of figure: Plotly accepts it, it is small enough to send, and it has a table and a summary."""

import json
import re

import numpy as np
import plotly.graph_objects as go
import pytest

from tests.viz_app.figures.random_maps import AXES, random_maps
from viz_app.content.limits import MAX_TILE, WINDOW
from viz_app.figures import attention, heads, masks, positions, training, vectors, words
from viz_app.figures.attention import head_map
from viz_app.figures.overview import overview
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
        "overview": overview(maps, named, mask[None].repeat(3, axis=0), chosen=(1, None), height=300),
        "head": head_map(one, named, mask, height=300),
        "logarithmic": head_map(one, named, mask, height=300, logarithmic=True),
        "difference": attention.difference_map(table, named, mask, height=300),
        "clickable": attention.clickable_map(one, named, mask, height=300),
        "mask": masks.mask_map(mask, named, height=300),
        "scores": masks.score_map(scores, named, bound=2.0, height=300),
        "grids": heads.head_grids({"x": maps[:, :, 0, 0], "y": maps[:, :, 0, 1]}, unit="nats", height=300),
        "signed grids": heads.head_grids({"x": maps[:, :, 0, 0]}, unit="nats", signed=True, height=300),
        "word grid": words.word_grid(
            [named.keys] * rows,
            one,
            rows=[f"layer {i}" for i in range(rows)],
            columns=named.keys,
            row_title="stopped after",
            column_title="token",
            notes=[["noted"] * columns] * rows,
            height=300,
        ),
        "shares": words.stacked_shares({"a": one[0], "b": 1 - one[0]}, named.keys, title="word", height=300),
        "matrix": positions.matrix(table, height=300),
        "by distance": positions.by_distance(one[:, : one.shape[1] - 1 + one.shape[1] % 2], unit="weight", height=300),
        "curves": positions.curves(table, [0, 1], names=["one", "two"], height=300),
        "wavelengths": positions.wavelengths(np.geomspace(6, 6e4, columns), longest_text=64, height=300),
        "bits": positions.bits(mask.astype(np.uint8), columns="digit", height=300),
        "pairs": positions.pairs(one, unit="distance", height=300),
        "rotation": positions.rotation(table, height=300),
        "similarity": positions.similarity(table, height=300),
        "tokens": positions.token_rows(table, named.queries, bound=1.0, height=300),
        "training": training.curves([1, 2], {"training": [4.0, 3.0]}, title="loss", height=300),
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
    longest["clickable"] = pictures(WINDOW, WINDOW)["clickable"]
    sizes = {name: len(picture.figure.to_json()) / 1e6 for name, picture in longest.items()}  # MB
    assert max(sizes.values()) < 1.5, sizes


def test_no_label_of_a_layer_is_on_another() -> None:
    large = heads.head_grids({"x": np.zeros((24, 16), dtype=np.float32)}, unit="nats", height=300).figure
    assert large.layout.height - heads.OUTSIDE >= 24 * 15
    small = heads.head_grids({"x": np.zeros((6, 8), dtype=np.float32)}, unit="nats", height=300).figure
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
    for picture in (positions.matrix(maps[0, 0], height=200), positions.similarity(maps[0, 0], height=200)):
        assert json.loads(picture.figure.to_json())["data"][0]["z"]["dtype"] == "f4"
    drawn = overview(maps, AXES, np.ones(maps[:, 0].shape, dtype=bool), chosen=(0, 0), height=300).figure
    assert len(drawn.to_json()) < 40_000


def test_the_scale_of_an_encoding_is_symmetric_about_zero() -> None:
    table = np.array([[0.5, -2.0], [1.0, 0.0]], dtype=np.float32)
    heatmap = positions.matrix(table, height=200).figure.data[0]
    assert (heatmap.zmin, heatmap.zmax) == (-2.0, 2.0)
    figure = positions.curves(table, [1], height=200).figure
    np.testing.assert_array_equal(figure.data[0].y, table[:, 1])


def test_training_curves_have_a_legend_only_for_several_series() -> None:
    one = training.curves([1, 2], {"validation": [3.0, 2.0]}, title="BLEU", height=200).figure
    two = training.curves([1, 2], {"training": [4.0, 3.0], "validation": [3.0, 2.0]}, title="loss", height=200).figure
    assert (one.layout.showlegend, two.layout.showlegend) == (False, True)
    assert list(two.data[1].y) == [3.0, 2.0]

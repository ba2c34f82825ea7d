import base64
import io
import json
import re

import numpy as np
import plotly.graph_objects as go
import pytest
from PIL import Image
from plotly.colors import hex_to_rgb, sample_colorscale

from viz_app.figures import attention, heads, masks, positions, training, vectors, words
from viz_app.figures.attention import head_map
from viz_app.figures.colours import MASKED
from viz_app.figures.enlarged import enlarged
from viz_app.figures.labels import LINE, unique_labels
from viz_app.figures.overview import MAX_TILE, overview, pooled
from viz_app.figures.picture import Picture
from viz_app.figures.style import Axes

INVISIBLE = "\u200b\u2060"  # no width: what tells equal labels apart
OPEN = np.ones((3, 2), dtype=bool)
AXES = Axes(queries=["a", "b", "a"], keys=["x", "x"], query_title="query: written", key_title="key: source")


def weights(layers: int, heads: int, rows: int, columns: int) -> np.ndarray:
    return np.random.default_rng(0).dirichlet(np.ones(columns), size=(layers, heads, rows)).astype(np.float32)


def test_head_map_shows_the_exact_numbers_query_rows_and_key_columns() -> None:
    maps = weights(1, 1, 3, 2)[0, 0]
    figure = head_map(maps, AXES, OPEN, height=300).figure
    heatmap = figure.data[0]
    np.testing.assert_array_equal(heatmap.z, maps)
    assert (heatmap.zmin, heatmap.zmax) == (0, 1)
    assert figure.layout.yaxis.autorange == "reversed"  # the first query is on top
    assert figure.layout.yaxis.title.text == "query: written"
    assert figure.layout.xaxis.title.text == "key: source"


def test_equal_tokens_keep_rows_of_their_own() -> None:
    labels = unique_labels(["der", "Hund", "der", "der"])
    assert len(set(labels)) == 4
    assert [label.strip(INVISIBLE) for label in labels] == ["der", "Hund", "der", "der"]


@pytest.mark.parametrize("sign", INVISIBLE)
def test_tokens_that_differ_by_what_nobody_sees_keep_rows_of_their_own(sign: str) -> None:
    tokens = ["der", f"der{sign}", "der", f"der{sign}", f"der{sign}{sign}", "der", ""]
    labels = unique_labels(tokens)
    assert len(set(labels)) == len(tokens)
    assert [label.strip(INVISIBLE).strip() for label in labels] == [token.strip(INVISIBLE) for token in tokens]


def test_labels_of_a_row_of_equal_tokens_stay_short() -> None:
    assert max(map(len, unique_labels(["<pad>"] * 1000))) <= len("&lt;pad&gt;") + 10


@pytest.mark.parametrize("token", ["<s>", "</s>", "<b>bold</b>", "&amp;", '<a href="x">'])
def test_tokens_are_never_markup(token: str) -> None:
    label = unique_labels([token])[0]
    assert "<" not in label
    assert label.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&") == token


def test_long_and_invisible_tokens_stay_readable() -> None:
    assert unique_labels(["x" * 500])[0] == "x" * 17 + "…"
    assert unique_labels(["\n", "\t", ""]) == ["↵", "⇥", " "]


def pixels(image: go.Image) -> np.ndarray:
    """The picture as a browser decodes it."""
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(image.source.partition(",")[2]))))


def test_overview_puts_every_head_in_its_own_tile_in_one_trace() -> None:
    maps = weights(2, 3, 4, 5)
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


def test_overview_frames_the_chosen_head_or_the_whole_layer() -> None:
    maps = weights(2, 3, 4, 5)
    squares = overview(maps, AXES, np.ones(maps[:, 0].shape, dtype=bool), chosen=(1, 2), height=300).figure.data[1]
    x = dict(zip(map(tuple, squares.customdata), zip(squares.x, squares.y, strict=True), strict=True))
    frame = overview(maps, AXES, np.ones(maps[:, 0].shape, dtype=bool), chosen=(1, 2), height=300).figure.layout.shapes[
        0
    ]
    inside = [key for key, (px, py) in x.items() if frame.x0 < px < frame.x1 and frame.y0 < py < frame.y1]
    assert inside == [(1, 2)]
    frame = overview(
        maps, AXES, np.ones(maps[:, 0].shape, dtype=bool), chosen=(0, None), height=300
    ).figure.layout.shapes[0]
    inside = [key for key, (px, py) in x.items() if frame.x0 < px < frame.x1 and frame.y0 < py < frame.y1]
    assert inside == [(0, 0), (0, 1), (0, 2)]


def test_pooling_keeps_small_maps_and_the_peaks_of_large_ones() -> None:
    small = weights(1, 2, 7, 9)
    np.testing.assert_array_equal(pooled(small), small)
    large = np.zeros((1, 1, 130, 101), dtype=np.float32)
    large[0, 0, 129, 100] = 0.9
    assert pooled(large).shape[2] <= MAX_TILE
    assert pooled(large)[0, 0, -1, -1] == np.float32(0.9)
    assert pooled(large).sum() == pytest.approx(0.9)


def test_masks_have_two_colours_and_what_they_forbid_is_grey_in_scores_and_weights() -> None:
    mask = np.tri(3, 2, dtype=bool)
    figure = masks.mask_map(mask, AXES, height=200).figure
    np.testing.assert_array_equal(figure.data[0].z, mask)
    scores = np.where(mask, np.float32(1.5), np.float32("-inf"))
    weights_picture = head_map(np.where(mask, np.float32(0.5), np.float32(0)), AXES, mask, height=200)
    for picture in (masks.score_map(scores, AXES, bound=2.0, height=200), weights_picture):
        shown, forbidden = picture.figure.data
        np.testing.assert_array_equal(np.isnan(shown.z), ~mask)
        np.testing.assert_array_equal(np.isnan(forbidden.z), mask)
        assert {colour for _, colour in forbidden.colorscale} == {MASKED}


def test_overview_paints_the_masked_cells_of_every_tile() -> None:
    maps = weights(2, 3, 4, 4)
    mask = np.tri(4, dtype=bool)
    drawn = pixels(overview(maps, AXES, mask[None].repeat(len(maps), axis=0), chosen=(0, 0), height=300).figure.data[0])
    grey = (drawn[..., :3] == hex_to_rgb(MASKED)).all(axis=-1) & (drawn[..., 3] == 255)
    assert grey.sum() == 2 * 3 * (~mask).sum()
    np.testing.assert_array_equal(grey[:4, :4], ~mask)


def test_numbers_travel_as_binary_arrays_not_as_text() -> None:
    maps = weights(3, 8, 20, 20)
    for picture in (
        positions.matrix(maps[0, 0], height=200),
        positions.similarity(maps[0, 0], height=200),
    ):
        z = json.loads(picture.figure.to_json())["data"][0]["z"]
        assert z["dtype"] == "f4"
    drawn = overview(maps, AXES, np.ones(maps[:, 0].shape, dtype=bool), chosen=(0, 0), height=300).figure
    assert len(drawn.to_json()) < 40_000


def pictures(rows: int, columns: int) -> dict[str, Picture]:
    """One of each kind, of a map of so many rows and columns."""
    maps = weights(3, 8, rows, columns)
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
    sizes = {name: len(picture.figure.to_json()) / 1e6 for name, picture in longest.items()}  # MB
    assert max(sizes.values()) < 1.5, sizes


@pytest.mark.parametrize("name", pictures(3, 4))
def test_every_picture_has_a_table_and_a_summary(name: str) -> None:
    picture = pictures(3, 4)[name]
    table = picture.table()
    assert table.size, "the table has cells"
    assert table.index.is_unique
    assert table.columns.is_unique
    assert picture.summary.endswith(".")
    assert re.search(r"\d", picture.summary), "the summary names a number"


def test_a_large_map_can_be_clicked_where_its_weights_are() -> None:
    maps, mask = weights(1, 1, 90, 90)[0, 0], np.tri(90, dtype=bool)
    named = Axes(queries=[str(i) for i in range(90)], keys=[str(i) for i in range(90)], query_title="", key_title="")
    squares = attention.clickable_map(maps, named, mask, height=300).figure.data[-1]
    cells = {tuple(cell) for cell in squares.customdata}
    assert len(cells) == attention.MAX_SQUARES < mask.sum()
    assert all(mask[cell] for cell in cells)
    left = [maps[t, s] for t in range(90) for s in range(t + 1) if (t, s) not in cells]
    assert min(maps[cell] for cell in cells) >= max(left)
    five = Axes(queries=list("abcde"), keys=list("abcde"), query_title="", key_title="")
    small = attention.clickable_map(maps[:5, :5], five, mask[:5, :5], height=300).figure.data[-1]
    assert {tuple(cell) for cell in small.customdata} == set(zip(*np.nonzero(mask[:5, :5]), strict=True))


def test_position_scales_are_symmetric_about_zero() -> None:
    table = np.array([[0.5, -2.0], [1.0, 0.0]], dtype=np.float32)
    heatmap = positions.matrix(table, height=200).figure.data[0]
    assert (heatmap.zmin, heatmap.zmax) == (-2.0, 2.0)
    figure = positions.curves(table, [1], height=200).figure
    np.testing.assert_array_equal(figure.data[0].y, table[:, 1])


def test_training_curves_name_their_series_only_where_there_are_several() -> None:
    one = training.curves([1, 2], {"validation": [3.0, 2.0]}, title="BLEU", height=200).figure
    two = training.curves([1, 2], {"training": [4.0, 3.0], "validation": [3.0, 2.0]}, title="loss", height=200).figure
    assert (one.layout.showlegend, two.layout.showlegend) == (False, True)
    assert list(two.data[1].y) == [3.0, 2.0]


def test_an_enlarged_figure_has_larger_text_and_room_for_it_and_the_same_numbers() -> None:
    axes = Axes(queries=["a", "b"] * 15, keys=["c"], query_title="query: target token being written", key_title="key")
    numbers = np.ones((30, 1), dtype=np.float32)
    drawn = head_map(numbers, axes, numbers > 0, height=300).figure
    large = enlarged(drawn, 2)
    for side in ("xaxis", "yaxis"):
        assert large.layout[side].tickfont.size == 2 * drawn.layout[side].tickfont.size
        assert large.layout[side].title.font.size == 2 * drawn.layout[side].title.font.size
    assert large.data[0].colorbar.tickfont.size == 2 * drawn.data[0].colorbar.tickfont.size
    assert large.layout.margin.b == 2 * drawn.layout.margin.b
    assert large.layout.margin.l > 2 * drawn.layout.margin.l, "a long title takes two lines"
    room = large.layout.height - large.layout.margin.t - large.layout.margin.b
    assert room / 30 >= large.layout.yaxis.tickfont.size, "labels do not overlap"
    assert large.to_plotly_json()["data"][0]["z"] == drawn.to_plotly_json()["data"][0]["z"]
    assert drawn.layout.yaxis.title.text == axes.query_title, "the figure itself is as it was"


def test_each_row_of_a_map_is_as_high_as_its_label_however_long_the_labels_below_are() -> None:
    rows, labels = 25, ["Donaudampfschifffahrt"] * 25
    axes = Axes(queries=labels, keys=labels, query_title="query", key_title="key")
    square = np.ones((rows, rows), dtype=np.float32)
    drawn = head_map(square / rows, axes, square > 0, height=200).figure.layout
    assert drawn.height - drawn.margin.t - drawn.margin.b >= LINE * rows

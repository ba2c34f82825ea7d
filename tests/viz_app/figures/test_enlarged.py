"""Figures with larger text, and figures whose height depends on their text."""

import numpy as np

from viz_app.figures.heat_maps import head_map
from viz_app.figures.labels import LINE
from viz_app.figures.style import Axes, enlarged


def test_an_enlarged_figure_has_larger_text_more_space_and_the_same_numbers() -> None:
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
    height = large.layout.height - large.layout.margin.t - large.layout.margin.b
    assert height / 30 >= large.layout.yaxis.tickfont.size, "labels do not overlap"
    assert large.to_plotly_json()["data"][0]["z"] == drawn.to_plotly_json()["data"][0]["z"]
    assert drawn.layout.yaxis.title.text == axes.query_title, "the original figure does not change"


def test_each_row_of_a_map_has_the_height_of_its_label_also_above_long_column_labels() -> None:
    rows, labels = 25, ["Donaudampfschifffahrt"] * 25
    axes = Axes(queries=labels, keys=labels, query_title="query", key_title="key")
    square = np.ones((rows, rows), dtype=np.float32)
    drawn = head_map(square / rows, axes, square > 0, height=200).figure.layout
    assert drawn.height - drawn.margin.t - drawn.margin.b >= LINE * rows

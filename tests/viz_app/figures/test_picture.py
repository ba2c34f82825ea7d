"""The table of a picture holds the numbers of its figure, and its summary names the extremes."""

import numpy as np

from viz_app.figures.grids import head_grids, word_grid
from viz_app.figures.heat_maps import head_map, mask_map
from viz_app.figures.lines import curves, stacked_shares
from viz_app.figures.picture import map_summary, overview_summary, overview_table
from viz_app.figures.style import Axes, marked
from viz_app.figures.vectors import concatenation

WEIGHTS = np.array([[0.7, 0.3, 0.0], [0.1, 0.2, 0.7], [0.05, 0.9, 0.05]], dtype=np.float32)
LABELS = Axes(
    queries=["der", "Hund", "der"], keys=["a & b", "dog", "<s>"], query_title="query: written", key_title="key: read"
)
OPEN = np.array([[True, True, False], [True, True, True], [True, True, True]])


def test_a_map_gives_every_weight_and_names_the_largest() -> None:
    picture = head_map(WEIGHTS, LABELS, OPEN, height=300)
    assert picture.summary.startswith("Largest attention weight: 0.9 (query: der")
    assert picture.summary.endswith("key: dog).")
    table = picture.table()
    np.testing.assert_allclose(table.to_numpy(), np.where(OPEN, WEIGHTS, np.nan), atol=1e-7)
    assert list(table.columns) == ["a & b", "dog", "<s>"]
    assert table.index[1] == "Hund"


def test_the_overview_names_the_sharpest_head() -> None:
    maps = np.full((2, 2, 3, 3), 1 / 3, dtype=np.float32)
    maps[1, 0] = np.eye(3)
    assert "highest in layer 2 · head 1 (1)" in overview_summary(maps)
    np.testing.assert_allclose(overview_table(maps).to_numpy(), [[1 / 3, 1 / 3], [1, 1 / 3]], atol=1e-6)


def test_a_difference_names_both_extremes_and_a_mask_counts_its_cells() -> None:
    summary = map_summary(marked(WEIGHTS - 0.5, OPEN), LABELS, unit="difference", signed=True)
    assert "Largest difference: 0.4 (" in summary
    assert "Smallest difference: -0.45 (" in summary
    assert mask_map(OPEN, LABELS, height=300).summary == "8 of 9 cells may attend; the others are masked."


def test_a_table_leaves_out_gaps_and_names_the_kinds() -> None:
    table = head_grids({"cross": WEIGHTS, "encoder": WEIGHTS[:2, :2]}, unit="nats", height=200).table()
    assert list(table.columns) == ["cross 1", "cross 2", "cross 3", "encoder 1", "encoder 2"]
    values = np.arange(4, dtype=np.float32)
    table = concatenation(values, -values, heads=2, chosen=0, height=200).table()
    assert list(table.index) == ["heads", "output"]


def test_a_word_grid_lists_its_notes() -> None:
    notes = [["“a” < 0.7", "“b” 0.2"]]
    axes = Axes(queries=["layer 1"], keys=["x", "y"], query_title="after", key_title="token")
    grid = word_grid([["a", "b"]], np.array([[0.7, 0.2]], dtype=np.float32), axes, notes=notes, height=200)
    assert grid.table().to_numpy().tolist() == notes


def test_lines_and_bars_list_their_points() -> None:
    picture = curves([100, 200, 300], {"right": [1.0, 9.0, 4.0]}, title="right, %", height=200)
    assert picture.summary == "right: maximum 9 at training step 200, last value 4."
    assert picture.table()["right"].tolist() == [1.0, 9.0, 4.0]
    assert curves([], {"right": []}, title="right, %", height=200).summary == "There are no numbers yet."
    bars = stacked_shares({"read": [0.2, 0.6], "guessed": [0.8, 0.4]}, ["a", "a"], title="word", height=200)
    assert bars.table().to_numpy().tolist() == [[0.2, 0.8], [0.6, 0.4]]

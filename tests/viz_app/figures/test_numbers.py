"""The numbers of a picture are those that it was drawn from, and its sentence names what stands out."""

import numpy as np
import pytest

from viz_app.figures.attention import clickable_map, difference_map, head_map, overview
from viz_app.figures.heads import head_grids
from viz_app.figures.masks import mask_map
from viz_app.figures.numbers import numbers_of
from viz_app.figures.style import Axes
from viz_app.figures.training import curves
from viz_app.figures.vectors import concatenation
from viz_app.figures.words import stacked_shares, word_grid

WEIGHTS = np.array([[0.7, 0.3, 0.0], [0.1, 0.2, 0.7], [0.05, 0.9, 0.05]], dtype=np.float32)
LABELS = Axes(
    queries=["der", "Hund", "der"], keys=["a & b", "dog", "<s>"], query_title="query: written", key_title="key: read"
)
OPEN = np.array([[True, True, False], [True, True, True], [True, True, True]])


@pytest.mark.parametrize("logarithmic", [False, True])
def test_a_map_tells_every_weight_and_its_largest(logarithmic: bool) -> None:
    found = numbers_of(head_map(WEIGHTS, LABELS, OPEN, height=300, logarithmic=logarithmic))
    assert found.says.startswith("Largest attention weight: 0.9, query der")
    assert found.says.endswith("key dog.")
    table = found.table()
    np.testing.assert_allclose(table.to_numpy(), np.where(OPEN, WEIGHTS, np.nan), atol=1e-7)
    assert list(table.columns) == ["a & b", "dog", "<s>"]
    assert table.index[1] == "Hund"


def test_what_lies_over_a_map_is_not_taken_for_it() -> None:
    found = numbers_of(clickable_map(WEIGHTS, LABELS, OPEN, height=300))
    np.testing.assert_allclose(found.table().to_numpy(), np.where(OPEN, WEIGHTS, np.nan), atol=1e-7)


def test_all_heads_tell_which_is_sharpest() -> None:
    maps = np.full((2, 2, 3, 3), 1 / 3, dtype=np.float32)
    maps[1, 0] = np.eye(3)
    found = numbers_of(overview(maps, LABELS, np.ones((len(maps), 3, 3), dtype=bool), chosen=(0, 0), height=300))
    assert "Most: layer 2 · head 1, 1;" in found.says
    np.testing.assert_allclose(found.table().to_numpy(), [[1 / 3, 1 / 3], [1, 1 / 3]], atol=1e-6)


def test_differences_tell_both_ends_and_masks_count_their_cells() -> None:
    says = numbers_of(difference_map(WEIGHTS - 0.5, LABELS, OPEN, height=300)).says
    assert "Largest difference: 0.4," in says
    assert "Smallest: -0.45," in says
    assert numbers_of(mask_map(OPEN, LABELS, height=300)).says == "8 of 9 cells are 1, the others 0."


def test_gaps_of_a_picture_are_no_rows_and_kinds_keep_their_names() -> None:
    table = numbers_of(head_grids({"cross": WEIGHTS, "encoder": WEIGHTS[:2, :2]}, unit="nats", height=200)).table()
    assert list(table.columns) == ["cross 1", "cross 2", "cross 3", "encoder 1", "encoder 2"]
    values = np.arange(4, dtype=np.float32)
    table = numbers_of(concatenation(values, -values, heads=2, chosen=0, height=200)).table()
    assert list(table.index) == ["heads", "output"]


def test_words_in_cells_are_told_with_their_numbers() -> None:
    notes = [["“a” < 0.7", "“b” 0.2"]]
    axes = {"rows": ["layer 1"], "columns": ["x", "y"], "row_title": "after", "column_title": "token"}
    grid = word_grid([["a", "b"]], np.array([[0.7, 0.2]], dtype=np.float32), **axes, notes=notes, height=200)
    assert numbers_of(grid).table().to_numpy().tolist() == notes


def test_lines_and_bars_tell_their_points() -> None:
    found = numbers_of(curves([100, 200, 300], {"right": [1.0, 9.0, 4.0]}, title="right, %", height=200))
    assert found.says == "right: most 9 at training step 200, 4 at the end."
    assert found.table()["right"].tolist() == [1.0, 9.0, 4.0]
    assert numbers_of(curves([], {"right": []}, title="right, %", height=200)).says == "There are no numbers yet."
    bars = stacked_shares({"read": [0.2, 0.6], "guessed": [0.8, 0.4]}, ["a", "a"], title="word", height=200)
    assert numbers_of(bars).table().to_numpy().tolist() == [[0.2, 0.8], [0.6, 0.4]]

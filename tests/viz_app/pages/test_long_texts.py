"""A text with more tokens than a map can name: each page shows a section that can be read and moved."""

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from model.analysis import zeroing
from model.analysis.anatomy import anatomy, derive
from model.checkpoints.checkpoint import Checkpoint
from model.inference.translate import translate
from model.interventions import Head, Intervention, PaintedCell
from tests.model.analysis.follow import follow
from tests.viz_app.conftest import NAME, array, charts, maps
from viz_app.content.shared import WINDOW
from viz_app.figures.style import Axes
from viz_app.sections.heads import ablation_board, intervention_choice
from viz_app.widgets import atlas_links
from viz_app.widgets.head_picker import MapWindow

LONG = " ".join(["Ein großer Hund läuft schnell durch den tiefen weißen Schnee und bellt sehr laut,"] * 4)
HERE = {"kind": "encoder", "layer": "2", "head": "4"}
SECTION = {"window_row": "6", "window_column": "11"}
OpenApp = Callable[..., AppTest]


def drawn(app: AppTest) -> list[np.ndarray]:
    return [array(chart["data"][0]["z"]).astype(float) for chart in charts(app) if "z" in chart["data"][0]]


@pytest.mark.parametrize(("page", "more"), [("heads", {}), ("compare", {"compare": "sentences", "second_text": "Ja."})])
def test_a_large_map_is_shown_in_sections(
    open_app: OpenApp, checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch, page: str, more: dict[str, str]
) -> None:
    monkeypatch.setattr(ablation_board, "MOST_SECONDS", 0.0)  # the effects of all heads are no part of this
    app = open_app(page, checkpoint=NAME, text=LONG, **HERE, **SECTION, **more)
    whole = translate(checkpoint, LONG).maps["encoder"][1, 3]
    assert min(whole.shape) > WINDOW + 11
    np.testing.assert_allclose(maps(app)[0], whole[5 : 5 + WINDOW, 10 : 10 + WINDOW], atol=1e-6)
    assert any(f"a {WINDOW} × {WINDOW} section" in caption.value for caption in app.caption)


def test_a_cell_of_a_section_is_painted_at_its_place_in_the_whole_map(monkeypatch: pytest.MonkeyPatch) -> None:
    state = {"intervention": Intervention(), "painted_weight": 0.5}
    monkeypatch.setattr(st, "session_state", state)
    monkeypatch.setattr(intervention_choice, "set_choice", state.__setitem__)
    monkeypatch.setattr(atlas_links, "draw_map", lambda *_, on_cell, **__: on_cell(2, 0))
    names = [str(i) for i in range(2 * WINDOW)]
    atlas_links.draw_head_map(
        np.zeros((2 * WINDOW, 2 * WINDOW), dtype=np.float32),
        Axes(queries=names, keys=names, query_title="", key_title=""),
        np.ones((2 * WINDOW, 2 * WINDOW), dtype=bool),
        window=MapWindow(query=5, key=10, whole=False),
        of=None,
        key="map",
        on_cell=partial(intervention_choice.paint_cell, Head("encoder", 1, 3)),
    )
    assert state["intervention"] == Intervention(painted=frozenset([PaintedCell(Head("encoder", 1, 3), 7, 10, 0.5)]))


def test_inside_a_head_the_sum_is_over_all_keys_and_the_pictures_show_a_few(
    open_app: OpenApp, checkpoint: Checkpoint
) -> None:
    app = open_app("inside", checkpoint=NAME, text=LONG, query="3", **HERE, **SECTION)
    parts = anatomy(follow(checkpoint, LONG), "encoder", 1)
    steps = derive(parts, 3, 3)
    _, products, values, weighted = (rows for rows in drawn(app)[:4])
    shown = slice(10, 10 + WINDOW)
    np.testing.assert_allclose(products, steps.products[shown], atol=1e-5)
    np.testing.assert_allclose(values, parts.values[3][shown], atol=1e-5)
    np.testing.assert_allclose(weighted[:WINDOW], steps.weighted_values[shown], atol=1e-5)
    np.testing.assert_allclose(weighted[-1], steps.weighted_values.sum(axis=0), atol=1e-4)
    assert len(app.dataframe[0].value) == len(parts.keys[3])


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_tokens_that_a_word_depends_on_are_shown_in_sections(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    monkeypatch.setattr(zeroing, "MAX_PRODUCTS", 1)  # only the first two maps count
    app = open_app("inside", checkpoint=NAME, text=LONG, inside_tab="read", lang=language, **SECTION)
    assert all(max(shares.shape) <= WINDOW for shares in maps(app)[:2])
    assert any(f"× {WINDOW}" in caption.value for caption in app.caption)

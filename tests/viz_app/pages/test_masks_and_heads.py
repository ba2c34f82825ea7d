"""Masks and Heads in Streamlit's test harness, compared with the model itself."""

import re
from collections.abc import Callable

import numpy as np
import pytest
from plotly.colors import hex_to_rgb
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Button

from model.analysis.importance import gradient_importance
from model.analysis.mask_bugs import BUGS, bug_weights, mask_bug
from model.analysis.padded_batch import padded_batch
from model.analysis.silencing import silence_each_head
from model.checkpoints.checkpoint import Checkpoint
from model.config.kinds import KINDS
from model.inference.translate import translate
from model.interventions import Head, Intervention, PaintedCell
from tests.model.analysis.follow import follow
from tests.viz_app.conftest import (
    NAME,
    TEXT,
    array,
    charts,
    compared_lines,
    component_data,
    head_map,
    html,
    in_url,
    tab,
)
from viz_app.content.examples import BATCHES
from viz_app.sections.heads import ablation_board
from viz_app.sections.masks.bug_lab import MISTAKES
from viz_app.services import analyses

OpenApp = Callable[..., AppTest]


@pytest.fixture(scope="module")
def translated(checkpoint: Checkpoint) -> str:
    """The first text of the batch as a correct model translates it."""
    return mask_bug(checkpoint, tuple(BATCHES["de"])).texts[0]


@pytest.mark.parametrize("bug", BUGS)
def test_the_bug_lab_shows_what_each_mistake_does(
    open_app: OpenApp, checkpoint: Checkpoint, translated: str, bug: str
) -> None:
    app = tab(open_app("masks", checkpoint=NAME, bug=bug, layer="1", head="2"), "mask_tab", "Bug lab")
    texts = tuple(BATCHES["de"])
    batch = padded_batch(checkpoint, texts)
    right, wrong = (bug_weights(checkpoint, batch, name, "decoder", 0)[0, 1] for name in ("", bug))
    before, after = (np.nan_to_num(array(chart["data"][0]["z"])) for chart in charts(app))
    np.testing.assert_allclose(before, right, atol=1e-5)
    np.testing.assert_allclose(after, wrong, atol=1e-5)
    app.session_state["all_mistakes"] = True
    app.run()
    table = app.dataframe[0].value.set_index("masks")
    report = mask_bug(checkpoint, texts, bug)
    leaked = report.leaked["decoder"][0]
    assert report.texts[0] != translated, "of the batch that is there at first, it shows"
    assert table.loc["correct masks", "leaked: decoder"] == 0
    assert table.loc[MISTAKES[bug].label, "leaked: decoder"] == pytest.approx(100 * leaked, abs=1e-3)


def test_the_board_silences_heads_only_for_this_visitor(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    first, second = (open_app("heads", checkpoint=NAME, text=TEXT) for _ in range(2))
    ablated = frozenset(Head("cross", layer, head) for layer in range(3) for head in range(8))
    button(first, "Silence all heads").click().run()
    every = first.session_state["intervention"].ablated
    assert ablated < every
    expected = translate(checkpoint, TEXT, edits=Intervention(ablated=every).edits())
    assert {
        state for board in component_data(first, "head_switches")["boards"] for row in board["states"] for state in row
    } == {"off"}
    as_trained = translate(checkpoint, TEXT).text
    assert compared_lines(first) == [as_trained, expected.text or "(nothing)"]
    assert expected.text != as_trained
    second.run()
    assert not second.session_state["intervention"]
    assert compared_lines(second) == [as_trained, as_trained]
    button(first, "Clear changes").click().run()
    assert not first.session_state["intervention"]


def test_the_search_finds_few_heads_that_decide_the_translation(open_app: OpenApp) -> None:
    app = open_app("heads", checkpoint=NAME, text=TEXT)
    button(app, "Find what matters").click().run()
    assert 1 <= len(app.session_state["intervention"].ablated) < 20, "few of 72"
    before, after = compared_lines(app)
    assert before != after


def test_effects_that_take_long_are_measured_by_a_job(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ablation_board, "MOST_SECONDS", 0.0)
    app = open_app("heads", checkpoint=NAME, text="Ein Hund wartet vor dem großen Laden.")
    assert not any(board.get("faces") for board in component_data(app, "head_switches")["boards"])
    assert any("is not measured yet" in caption.value for caption in app.caption)
    assert not any("≠ marks" in markdown.value for markdown in app.markdown)
    button(app, "Measure each head").click().run()
    assert all(board["faces"] for board in component_data(app, "head_switches")["boards"])
    assert any("≠ marks" in markdown.value for markdown in app.markdown)
    assert not any(one.label == "Measure each head" for one in app.button)


def test_effects_that_would_reach_the_limit_of_a_job_are_not_offered(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(analyses, "WORK_PER_SECOND", 1e5)
    app = open_app("heads", checkpoint=NAME, text="Ein Hund wartet vor dem großen Haus.")
    (reason,) = [caption.value for caption in app.caption if "not measured here" in caption.value]
    assert "Shorten the text" in reason
    assert not any(one.label == "Measure each head" for one in app.button)


def test_the_board_shows_the_effect_of_every_head_before_any_click(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    app = open_app("heads", checkpoint=NAME)
    text = app.text_input(key="text").value
    followed = follow(checkpoint, text)
    before, found = followed.result, silence_each_head(followed)
    boards = {board["kind"]: board for board in component_data(app, "head_switches")["boards"]}
    for kind, grid in found.changes.items():
        spoken = [[face["note"] for face in row] for row in boards[kind]["faces"]]
        for (layer, head), change in np.ndenumerate(grid):
            assert f"{change:+.3f} nats" in spoken[layer][head]
    cross = found.changes["cross"]
    red, blue = (np.unravel_index(extreme, cross.shape) for extreme in (cross.argmax(), cross.argmin()))
    channels = [hex_to_rgb(boards["cross"]["faces"][layer][head]["colour"]) for layer, head in (red, blue)]
    assert channels[0][0] > channels[0][2]
    assert channels[1][0] < channels[1][2]
    button(app, "Silence the decisive head").click().run()
    (silenced,) = app.session_state["intervention"].ablated
    assert found.positions[silenced.kind][silenced.layer, silenced.head] >= 0
    first, after = compared_lines(app)
    assert first == before.text
    assert after != first


def button(app: AppTest, label: str) -> Button:
    return next(one for one in app.button if one.label == label)


def test_a_link_keeps_silenced_heads_and_painted_weights(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    # A whole layer, because a few silenced heads may not change the translation.
    code = "off.cross.3.1-2-3-4-5-6-7-8~uniform.encoder.1.4~paint.cross.2.4.2.1.0.75"
    expected = translate(checkpoint, TEXT, edits=Intervention.from_code(code).edits())
    assert expected.text != translate(checkpoint, TEXT).text
    app = open_app("heads", checkpoint=NAME, text=TEXT, intervention=code)
    assert expected.text in re.sub("<[^>]+>", "", html(app))  # without the marks of differing words
    assert in_url(app, "intervention") == code
    # A code without meaning changes nothing.
    for nonsense in ("off.<b>.1.1", "~".join(["off.cross.3.1"] * 1000)):
        assert in_url(open_app("heads", checkpoint=NAME, intervention=nonsense), "intervention") is None


def test_a_painted_weight_is_in_the_map(open_app: OpenApp) -> None:
    app = open_app("heads", checkpoint=NAME, layer="2", head="3")
    app.session_state["intervention"] = Intervention(painted=frozenset([PaintedCell(Head("cross", 1, 2), 2, 4, 0.9)]))
    app.run()
    shown = head_map(app)
    assert shown[2, 4] == pytest.approx(0.9)
    assert shown[2].sum() == pytest.approx(1, abs=1e-5)
    assert any("row 3, column 5: 0.9" in caption.value for caption in app.caption)


def test_the_roles_and_the_importance_of_heads_are_those_of_the_analyses(
    open_app: OpenApp, checkpoint: Checkpoint
) -> None:
    app = tab(open_app("heads", checkpoint=NAME, sentences_from="pasted"), "heads_tab", "What heads do")
    assert "at least one sentence" in app.info[0].value
    app.text_area(key="pasted").set_value(f"{TEXT}\nEine Frau lacht.\tA woman is laughing.").run()
    assert not app.exception
    grid = array(charts(app)[0]["data"][0]["z"])
    assert grid.shape == (3, 3 * 8 + 2)
    assert "Sentences: 2" in html(app)
    assert "rarest" not in app.segmented_control(key="metric").options
    app = tab(app, "heads_tab", "Importance")
    pairs = [(TEXT, ""), ("Eine Frau lacht.", "A woman is laughing.")]
    expected = gradient_importance(checkpoint, pairs)
    kinds = array(charts(app)[0]["data"][0]["z"])
    for i, kind in enumerate(KINDS):  # the same order on every tab
        shown = kinds[:, 9 * i : 9 * i + 8]
        np.testing.assert_allclose(shown, expected[kind].mean(axis=0), atol=1e-5)
    app.button(key="measure").click().run()
    assert not app.exception
    assert len(charts(app)) == 2
    assert any("at least 10 sentences" in caption.value for caption in app.caption)
    assert not any("correlation" in caption.value for caption in app.caption)


def test_the_gradient_ranks_the_heads_like_the_measurement_and_the_interval_is_shown(open_app: OpenApp) -> None:
    app = open_app("heads", heads_tab="Importance")
    app.button(key="measure").click().run()
    comparison = next(caption.value for caption in app.caption if "correlation" in caption.value)
    numbers = re.search(r"20 sentences is ([\d.-]+) .*interval: ([\d.-]+) to ([\d.-]+)", comparison)
    assert numbers
    found, low, high = map(float, numbers.groups())
    assert 0.5 < low <= found <= high < 1


def test_a_cell_painted_in_a_silenced_head_is_named_with_the_reason(open_app: OpenApp) -> None:
    app = open_app("heads", checkpoint=NAME, intervention="off.cross.1.1~paint.cross.1.1.1.1.0.5")
    assert any("Its head is silenced." in caption.value for caption in app.caption)


def test_a_painted_cell_without_effect_is_named_with_the_reason(open_app: OpenApp) -> None:
    code = "paint.cross.2.3.9.2.0.5~paint.decoder.1.1.1.1.0.4~paint.decoder.1.2.2.9.0.5~paint.cross.1.1.1.1.0.5"
    app = open_app("heads", checkpoint=NAME, text="Ein Hund.", intervention=code)
    (painted,) = [c.value for c in app.caption if c.value.startswith("Painted:")]
    idle = " ".join(c.value for c in app.caption if c.value.startswith("Painted without effect:"))
    assert painted == "Painted: cross, layer 1, head 1, row 1, column 1: 0.5."
    assert re.search(r"row 9, column 2: 0.5. This map has \d rows and \d columns\.", idle)
    assert "head 1, row 1, column 1: 0.4. Its row has only one key, and this key keeps all the weight." in idle
    assert "row 2, column 9: 0.5" in idle

"""Inside (one head) and Positional encoding in Streamlit's test harness, compared with the model itself."""

import re
from collections.abc import Callable

import numpy as np
import pytest
import torch
from streamlit.testing.v1 import AppTest

from model.analysis.anatomy import anatomy
from model.analysis.positions import wavelengths
from model.checkpoints.checkpoint import Checkpoint, load_checkpoint, load_classifier
from model.inference.classify import classify
from model.inference.translate import translate
from model.interventions import Intervention
from model.network.positional import sinusoidal_table
from tests.conftest import BUNDLED
from tests.model.analysis.follow import follow
from tests.viz_app.conftest import NAME, TEXT, array, charts, compared_lines, html, in_url, tab
from viz_app.content.examples import CAPTIONS
from viz_app.widgets.checkpoint_choice import DEFAULT_CHECKPOINT

CAPTION = CAPTIONS["de"][0]  # long enough that its order matters
OpenApp = Callable[..., AppTest]


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_inside_a_head_the_numbers_equal_the_models(open_app: OpenApp, checkpoint: Checkpoint, kind: str) -> None:
    app = open_app("inside", checkpoint=NAME, kind=kind, layer="2", head="4", query="3")
    parts = anatomy(follow(checkpoint, TEXT), kind, 1)
    table = app.dataframe[0].value
    np.testing.assert_allclose(table["the model's own"], parts.weights[3, 3], atol=1e-6)
    np.testing.assert_allclose(table["weight α"], parts.weights[3, 3], atol=1e-5)
    assert (table["after the mask"] == "−∞").sum() == (~parts.allowed[3]).sum()
    assert "only rounding" in app.success[0].value
    products = array(charts(app)[1]["data"][0]["z"])
    np.testing.assert_allclose(products, parts.queries[3, 3] * parts.keys[3], atol=1e-5)
    app.toggle(key="scaled").set_value(False).run()
    assert "what-if" in app.warning[0].value
    assert app.dataframe[0].value["weight α"].max() > parts.weights[3, 3].max()


def test_a_long_table_inside_a_head_says_that_it_scrolls(open_app: OpenApp) -> None:
    for text, scrolls in (("Ein Hund.", False), ("Ein Hund rennt durch den tiefen Schnee und bellt laut.", True)):
        app = open_app("inside", checkpoint=NAME, text=text, kind="encoder")
        assert any("Scroll it" in caption.value for caption in app.caption) is scrolls


@pytest.mark.parametrize("name", [NAME, "multi30k-de-en-words"])
@pytest.mark.parametrize(
    "position_tab", ["The matrix", "Waves and counters", "Distances and rotation", "In a sentence"]
)
def test_each_tab_opens_for_sinusoidal_and_learned_positions(open_app: OpenApp, name: str, position_tab: str) -> None:
    app = tab(open_app("positions", checkpoint=name, text=CAPTION), "position_tab", position_tab)
    if position_tab == "Distances and rotation":
        table = app.dataframe[0].value
        assert table["sinusoidal"].str.startswith("✓").all()
        assert table["learned"].str.startswith("✗").sum() == 2
    if position_tab == "In a sentence":
        checkpoint = load_checkpoint(BUNDLED / name)
        difference = re.search(r"differ from this sum by at most ([\d.e-]+)\.", html(app))
        assert difference
        assert float(difference[1]) < 1e-5
        blind = translate(checkpoint, CAPTION, edits=Intervention(positions=False).edits())
        assert compared_lines(app)[:2] == [translate(checkpoint, CAPTION).text, blind.text]
        if name == NAME:  # the other model writes the same translation
            assert blind.text != translate(checkpoint, CAPTION).text


def test_a_link_without_positions_shows_its_effect_and_a_switch_that_ends_it(
    open_app: OpenApp, checkpoint: Checkpoint
) -> None:
    app = open_app("heads", checkpoint=NAME, text=TEXT, intervention="nopositions")
    blind = translate(checkpoint, TEXT, edits=Intervention(positions=False).edits()).text
    as_trained = translate(checkpoint, TEXT).text
    assert compared_lines(app) == [as_trained, blind]
    switch = app.toggle(key="board_positions")
    assert (switch.label, switch.value) == ("Positional encoding", False)
    switch.set_value(True).run()
    assert compared_lines(app) == [as_trained, as_trained]
    assert in_url(app, "intervention") is None
    app.toggle(key="board_positions").set_value(False).run()
    assert in_url(app, "intervention") == "nopositions"
    next(button for button in app.button if button.label == "Clear changes").click().run()
    assert app.toggle(key="board_positions").value


def test_an_odd_width_in_a_link_is_ignored_and_a_large_error_gets_no_tick(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_app("positions", width="17", position_tab="Distances and rotation")
    assert app.select_slider(key="width").value == load_checkpoint(BUNDLED / DEFAULT_CHECKPOINT).model.config.d_model
    assert app.success
    monkeypatch.setattr("model.analysis.positions.rotation_error", lambda *_: 0.063)
    monkeypatch.setattr("viz_app.sections.positions.order.rotation_error", lambda *_: 0.063)
    app.run()
    assert not app.success
    assert "more than rounding" in app.error[0].value


@pytest.mark.parametrize(("positions", "width"), [(8, 16), (5, 24), (40, 1024)])
def test_tables_of_any_size_are_drawn(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, positions: int, width: int
) -> None:
    own = sinusoidal_table(positions, width).numpy()
    monkeypatch.setattr("viz_app.services.analyses.position_table", lambda key: own)
    for name in ("The matrix", "Waves and counters", "Distances and rotation"):
        app = open_app("positions", position_tab=name)
        assert app.select_slider(key="width").value == width
        assert not app.error
    np.testing.assert_allclose(array(charts(open_app("positions"))[0]["data"][0]["z"]), own, atol=1e-6)


def test_the_ratios_of_wavelengths_on_the_page_are_correct(open_app: OpenApp) -> None:
    app = open_app("positions", position_tab="Waves and counters", base="10")
    said = html(app)[html(app).index("binary") :]
    found = [
        float(number) for number in re.findall(r"\d\.\d+|\b\d\b", said.partition("factors are")[2].partition("<")[0])
    ]
    lengths = wavelengths(app.select_slider(key="width").value, 10)
    nearest = [lengths[np.abs(lengths - lengths[0] * 2.0**i).argmin()] for i in range(5)]
    np.testing.assert_allclose(found, np.divide(nearest[1:], nearest[:-1]), rtol=0.05)  # two digits on the screen
    assert min(found) < 1.5


def test_the_curves_of_rotary_positions_equal_the_classifiers_scores(open_app: OpenApp) -> None:
    classifier = load_classifier(BUNDLED / "imdb-sentiment")
    app = open_app("positions", checkpoint="imdb-sentiment")
    assert not app.exception
    width = classifier.model.config.d_model // classifier.model.config.num_heads
    np.testing.assert_allclose(array(charts(app)[0]["data"][0]["z"]), sinusoidal_table(64, width).numpy(), atol=1e-6)
    assert app.select_slider(key="width").value == width
    app = open_app("positions", checkpoint="imdb-sentiment", position_tab="Distances and rotation")
    attention = classifier.model.encoder.layers[0].self_attention
    curves = charts(app)[0]["data"]
    assert len(curves) == classifier.model.config.num_heads
    for head, curve in enumerate(curves):
        query, key = (
            torch.view_as_complex(projection.bias.detach().double().view(-1, width // 2, 2)[head]).numpy()
            for projection in (attention.query_projection, attention.key_projection)
        )
        rates = 10_000.0 ** (-np.arange(width // 2) * 2 / width)
        distances = array(curve["x"])
        turned = query.conj() * key * np.exp(1j * rates * distances[:, None])
        scores = turned.real.sum(axis=-1) / width**0.5
        # The scores are near 70, in single precision.
        np.testing.assert_allclose(array(curve["y"]), scores - scores[distances == 0], atol=1e-4)
    before, after = (array(curve["x"])[array(curve["y"]).argmax()] for curve in curves[:2])
    assert (before, after) == (-1, 1)


def test_the_weights_by_distance_equal_the_means_of_the_map(open_app: OpenApp) -> None:
    review = "I did not like this film at all."
    app = open_app("positions", checkpoint="imdb-sentiment", position_tab="In a sentence", review=review)
    maps = classify(load_classifier(BUNDLED / "imdb-sentiment"), review).encoder[0]  # (H, S, S)
    places = np.arange(maps.shape[-1])
    for head, curve in enumerate(charts(app)[0]["data"]):
        for distance, weight in zip(array(curve["x"]), array(curve["y"]), strict=True):
            apart = places[None, :] - places[:, None] == distance
            assert weight == pytest.approx(maps[head][apart].mean(), abs=1e-5)
    for text in ("", "a", "\u4e2d\u6587 \U0001f600", "good " * 3000):
        app.text_area(key="review").set_value(text).run()
        assert not app.exception
        assert len(charts(app)) == bool(text)

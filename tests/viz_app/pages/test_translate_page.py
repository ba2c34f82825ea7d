"""Translate in Streamlit's test harness, compared with the model itself."""

import base64
import sys
from collections.abc import Callable
from html import escape

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.analysis.anatomy import value_norms
from model.analysis.statistics import rollout, translation_rollout
from model.checkpoints.checkpoint import Checkpoint
from model.config.search import SearchConfig
from model.inference.translate import forced_ids, translate
from tests.conftest import PATIENCE, ROOT
from tests.copies import start
from tests.model.analysis.follow import follow
from tests.viz_app.conftest import NAME, TEXT, component_data, head_map, html
from viz_app.content.numbers import percent

OpenApp = Callable[..., AppTest]


@pytest.mark.parametrize("method", ["greedy", "beam", "sample"])
def test_the_page_uses_the_chosen_search(open_app: OpenApp, checkpoint: Checkpoint, method: str) -> None:
    settings = {"temperature": "1.5", "top_k": "20", "seed": "3"} if method == "sample" else {}
    app = open_app(checkpoint=NAME, method=method, **settings)
    search = (
        SearchConfig(method="sample", temperature=1.5, top_k=20, seed=3) if settings else SearchConfig(method=method)
    )
    expected = translate(checkpoint, TEXT, search=search)
    assert f">{escape(expected.text)}</bdi>" in html(app)
    np.testing.assert_allclose(head_map(app), expected.maps["cross"][2, 0], atol=1e-6)


def test_a_text_that_the_model_cannot_read_gets_a_note_on_every_page_that_translates_it(open_app: OpenApp) -> None:
    for page in ("translate", "steps", "inside", "heads", "compare", "start"):
        app = open_app(page, checkpoint=NAME, text="Я тебя люблю.", second_text="A dog.", compare="sentences")
        assert sum("Most letters of this text" in caption.value for caption in app.caption) == 1, page
    app = open_app(checkpoint=NAME, text="A dog runs.")
    assert not any(":material/info:" in caption.value for caption in app.caption)


def test_impossible_search_settings_become_defaults(open_app: OpenApp) -> None:
    app = open_app(method="sample", temperature="99", top_p="x", beam_size="0", seed="-1")
    assert app.slider(key="temperature").value == 2.0
    assert app.slider(key="top_p").value == 1.0


@pytest.mark.parametrize("kind", ["encoder", "decoder", "cross"])
def test_rollout_and_value_norms_are_those_of_the_analyses(
    open_app: OpenApp, checkpoint: Checkpoint, kind: str
) -> None:
    followed = follow(checkpoint, TEXT)
    maps, norms = followed.maps, value_norms(followed)
    decoder, cross = translation_rollout(maps["encoder"], maps["decoder"], maps["cross"])
    rolled = {"encoder": rollout(maps["encoder"]), "decoder": decoder, "cross": cross}[kind]
    app = open_app(checkpoint=NAME, kind=kind, head="rollout", layer="2")
    shown = np.nan_to_num(head_map(app))
    np.testing.assert_allclose(shown, np.where(rolled[1] > 0, rolled[1], 0), atol=1e-5)
    app = open_app(checkpoint=NAME, kind=kind, head="3", layer="2", norms="true")
    expected = maps[kind][1, 2] * norms[kind][1, 2]
    np.testing.assert_allclose(np.nan_to_num(head_map(app)), expected, atol=1e-5)


def test_a_logarithmic_scale_keeps_the_weights(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    app = open_app(checkpoint=NAME, logarithmic="true", layer="2", head="1")
    data = component_data(app, "attention_map")
    np.testing.assert_allclose(head_map(app), translate(checkpoint, TEXT).maps["cross"][1, 0], atol=1e-6)
    assert data["logarithmic"]


def test_lines_have_the_weights_of_the_model(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    app = open_app(checkpoint=NAME, view="lines", kind="encoder", layer="1", head="2")
    data = component_data(app, "attention_lines")
    maps = translate(checkpoint, TEXT).maps["encoder"]
    found = np.frombuffer(base64.b64decode(data["weights"]), dtype="<f4").reshape(maps.shape)
    # With another number of threads, the page adds the numbers in another order.
    np.testing.assert_allclose(found, maps, atol=1e-5)
    assert data["chosen"] == [1]
    assert data["names"][8] == "layer 2, head 1"


def import_bertviz_when_it_is_opened() -> None:
    app = AppTest.from_file(str(ROOT / "streamlit_app.py"), default_timeout=PATIENCE).run()
    assert not app.exception
    assert not {"bertviz", "mpld3"} & sys.modules.keys()
    app.session_state["view"] = "head"
    app.run()
    assert not app.exception
    assert "bertviz" in sys.modules


def test_bertviz_is_imported_only_when_it_is_opened() -> None:
    process = start(import_bertviz_when_it_is_opened)
    process.join(PATIENCE)
    assert process.exitcode == 0


@pytest.mark.parametrize("view", ["head", "model"])
def test_a_text_too_long_for_bertviz_gets_a_message(open_app: OpenApp, view: str) -> None:
    app = open_app(checkpoint=NAME, view=view)
    assert not app.info
    app.text_input(key="text").set_value("Ein Hund " * 60).run()
    assert not app.exception
    assert "BertViz can draw at most" in app.info[0].value


def test_the_table_lists_the_largest_weights(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    app = open_app(checkpoint=NAME, layer="3", head="2")
    app.session_state["alignments"] = True
    app.run()
    table = app.dataframe[0].value
    maps = translate(checkpoint, TEXT).maps["cross"][2, 1]
    assert table["attention weight"].iloc[0] == pytest.approx(maps.max(), abs=1e-6)
    first = table.iloc[0]
    named = maps[first["position of the query"] - 1, first["position of the key"] - 1]
    assert named == pytest.approx(maps.max(), abs=1e-6)  # two nearly equal weights may come in any order


def test_rollout_with_hidden_tokens_names_its_own_share(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    maps = translate(checkpoint, TEXT).maps
    encoder, decoder = (
        rollout(maps["encoder"])[1],
        translation_rollout(maps["encoder"], maps["decoder"], maps["cross"])[0][1],
    )
    # In the decoder's rollout, a row is the share of the target only, so the hidden share is relative to its sum.
    shares = {"encoder": encoder[:-1, -1].mean(), "decoder": (decoder[1:, 0] / decoder[1:].sum(-1)).mean()}
    for kind, share in shares.items():
        app = open_app(checkpoint=NAME, kind=kind, head="rollout", layer="2", hide_special="true")
        note = next(caption.value for caption in app.caption if "hidden columns" in caption.value)
        assert f"hold {percent(share)} of the large map (share)" in note


def test_the_help_of_beam_search_names_the_criterion(open_app: OpenApp) -> None:
    assert "best mean log-probability per token" in open_app().segmented_control(key="method").help


def test_words_forced_on_step_by_step_are_kept_and_named_and_can_be_cleared(
    open_app: OpenApp, checkpoint: Checkpoint
) -> None:
    free = translate(checkpoint, TEXT)
    rival = free.written[1].candidates[1]
    app = open_app(text=TEXT, checkpoint=NAME, forced=f"1.{rival.id}")
    forced = translate(checkpoint, TEXT, forced={1: rival.id})
    assert forced.text in html(app)
    note = next(caption.value for caption in app.caption if "Forced:" in caption.value).replace("\\", "")
    assert f"“{rival.token}” at step 2" in note
    assert f"{forced.log_prob:.2f}" in note
    assert free.text in note
    np.testing.assert_allclose(head_map(app), forced.maps["cross"][-1, 0], atol=1e-5)
    (button,) = [button for button in app.button if button.label == "Clear forced words"]
    button.click().run()
    assert free.text in html(app)
    assert not any("Forced:" in caption.value for caption in app.caption)


def test_a_translation_that_the_visitor_types_has_its_maps(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    written = "When does the next bus leave?"
    app = open_app(text=TEXT, checkpoint=NAME, method="typed", typed=written)
    forced = translate(checkpoint, TEXT, forced=forced_ids(checkpoint.tokenizers, written))
    assert forced.text == written
    assert written in html(app)
    assert any("You typed this translation" in caption.value for caption in app.caption)
    np.testing.assert_allclose(head_map(app), forced.maps["cross"][-1, 0], atol=1e-5)
    app = open_app(text=TEXT, checkpoint=NAME, method="typed", typed="")
    assert translate(checkpoint, TEXT).text in html(app)


def test_the_latest_choice_counts_and_another_sentence_clears_it(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    app = open_app(text=TEXT, checkpoint=NAME, method="typed", typed="Hello there.")
    assert "Hello there." in html(app)
    app.text_input(key="text").set_value("Ein Hund rennt.").run()
    assert translate(checkpoint, "Ein Hund rennt.").text in html(app)
    assert app.segmented_control(key="method").value == "greedy"
    rival = translate(checkpoint, TEXT).written[1].candidates[1]
    app = open_app(text=TEXT, checkpoint=NAME, method="typed", typed="Hello there.", forced=f"1.{rival.id}")
    (button,) = [button for button in app.button if button.label == "Clear forced words"]
    button.click().run()
    assert translate(checkpoint, TEXT).text in html(app)
    assert not any(button.label == "Clear forced words" for button in app.button)

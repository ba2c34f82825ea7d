import base64
import re
import shutil
from collections.abc import Callable
from html import escape
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.analysis.padded_batch import layer_stages, padded_batch
from model.checkpoints.checkpoint import Checkpoint, load_checkpoint
from model.inference.translate import translate
from model.network.positional import sinusoidal_table
from tests.conftest import BUNDLED
from tests.viz_app.conftest import array, charts, component_data, head_map, html, maps, tab
from viz_app.content.examples import BATCHES, CAPTIONS, EVERYDAY
from viz_app.sections.masks.correct_masks import clearest_row
from viz_app.services.listing import OUR_FAMILY

OpenApp = Callable[..., AppTest]
NAMES = ["multi30k-en-de", "multi30k-de-en-words"]
LONG = "a man rides a horse " * 400


@pytest.fixture(scope="module", params=NAMES)
def bundled(request: pytest.FixtureRequest) -> Checkpoint:
    return load_checkpoint(BUNDLED / request.param)


def example(checkpoint: Checkpoint) -> str:
    return CAPTIONS[checkpoint.config.tokenizer.source_language][0]


@pytest.mark.parametrize("kind", ["cross", "encoder", "decoder"])
def test_the_map_on_the_screen_equals_that_of_the_model(open_app: OpenApp, bundled: Checkpoint, kind: str) -> None:
    app = open_app(checkpoint=bundled.name, kind=kind, layer="2", head="5")
    expected = translate(bundled, example(bundled)).maps[kind]
    levels = np.frombuffer(base64.b64decode(component_data(app, "head_grid")["levels"]), dtype=np.uint8)
    allowed = levels.reshape(expected.shape) < 255
    np.testing.assert_allclose(
        np.where(allowed, levels.reshape(expected.shape) / 253, 0), expected, atol=0.5 / 253 + 1e-6
    )
    shown = head_map(app)
    np.testing.assert_allclose(np.nan_to_num(shown), expected[1, 4], atol=1e-6)
    assert np.isnan(shown).sum() == (len(shown) * (len(shown) - 1) / 2 if kind == "decoder" else 0)


def test_translation_and_probabilities_equal_those_of_the_model(open_app: OpenApp, bundled: Checkpoint) -> None:
    app = open_app(checkpoint=bundled.name)
    expected = translate(bundled, example(bundled))
    drawn = html(app)
    assert f">{escape(expected.text)}</bdi></div>" in drawn
    shown = [float(percent) for percent in re.findall(r"probability ([\d.]+)\s%", drawn)]
    # The screen has one decimal, and the last bit may round it up or down.
    assert shown == pytest.approx([100 * token.probability for token in expected.written], abs=0.051)


def test_typing_changes_the_translation(open_app: OpenApp) -> None:
    app = open_app(checkpoint="multi30k-en-de")
    before = html(app)
    app.text_input(key="text").set_value("A woman is reading a book.").run()
    assert "Buch" not in before
    assert "Buch" in html(app)


def test_an_example_is_translated_at_once(open_app: OpenApp) -> None:
    app = open_app(checkpoint="multi30k-en-de")
    app.selectbox(key="example").set_value(CAPTIONS["en"][3]).run()
    assert app.text_input(key="text").value == CAPTIONS["en"][3]
    assert app.selectbox(key="example").value is None
    assert "Gitarre" in html(app)


@pytest.mark.parametrize("head", ["mean", "max"])
def test_heads_can_be_summed_up(open_app: OpenApp, head: str) -> None:
    app = open_app(checkpoint="multi30k-en-de", head=head, layer="3")
    checkpoint = load_checkpoint(BUNDLED / "multi30k-en-de")
    maps = translate(checkpoint, example(checkpoint)).maps["cross"][2]
    expected = maps.mean(axis=0) if head == "mean" else maps.max(axis=0)
    np.testing.assert_allclose(head_map(app), expected, atol=1e-6)


def test_merged_words_and_hidden_special_tokens(open_app: OpenApp) -> None:
    app = open_app(checkpoint="multi30k-en-de", text="The snowboarders somersault.")
    before = head_map(app)
    app.toggle(key="merge").set_value(True).run()
    merged = head_map(app)
    assert merged.shape[1] < before.shape[1]
    np.testing.assert_allclose(merged.sum(axis=1), 1.0, atol=1e-5)
    app.toggle(key="hide_special").set_value(True).run()
    hidden = component_data(app, "attention_map")
    assert not any("s>" in label for label in [*hidden["queries"], *hidden["keys"]])
    assert any("hidden columns hold" in element.value for element in app.caption)


@pytest.mark.parametrize("checkpoint", NAMES)
def test_any_text_gives_a_sensible_page(open_app: OpenApp, checkpoint: str) -> None:
    app = open_app(checkpoint=checkpoint)
    for text in (
        "",
        "🐕‍🦺🎉",
        "</script><script>alert(1)</script>",
        "   ",
        "مرحبا بالعالم",
        "Zzyzx qwrtp",
        "<s> </s>",
        "$x^2$ **b** [a](b)",
        LONG,
    ):
        app.text_input(key="text").set_value(text).run()
        assert not app.exception, text
        if text.strip():
            assert head_map(app).size, text
        else:
            assert "Type a sentence" in app.info[0].value
    assert "were left out" in app.warning[0].value


def test_a_very_long_text_is_cut_with_a_note(open_app: OpenApp) -> None:
    app = open_app(checkpoint="multi30k-en-de")
    app.text_input(key="text").set_value("a dog " * 4000).run()
    assert "24,000 characters. Only the first 20,000 were read" in app.warning[0].value
    assert head_map(app).size


def test_choices_follow_the_visitor_from_page_to_page(open_app: OpenApp) -> None:
    app = open_app(checkpoint="multi30k-en-de", layer="1", head="4")
    app.switch_page("viz_app/pages/masks.py").run()
    assert (app.selectbox(key="layer").value, app.selectbox(key="head").value) == ("1", "4")
    assert app.selectbox(key="checkpoint").value == "multi30k-en-de"


def test_an_example_follows_the_language_of_the_checkpoint(open_app: OpenApp) -> None:
    app = open_app(checkpoint="multi30k-en-de")
    app.selectbox(key="checkpoint").set_value("multi30k-de-en-words").run()
    assert app.text_input(key="text").value == CAPTIONS["de"][0]
    app.text_input(key="text").set_value("Ein Pferd.").run()
    app.selectbox(key="checkpoint").set_value("multi30k-en-de").run()
    assert app.text_input(key="text").value == "Ein Pferd."


def test_examples_are_of_the_kind_that_the_checkpoint_was_trained_on(open_app: OpenApp) -> None:
    app = open_app(checkpoint="multi30k-en-de")
    app.selectbox(key="checkpoint").set_value("everyday-en-zh").run()
    assert app.text_input(key="text").value == EVERYDAY["en"][0]
    app.selectbox(key="checkpoint").set_value("multi30k-de-en-words").run()
    assert app.text_input(key="text").value == CAPTIONS["de"][0]


def test_an_old_link_opens_the_successor_of_its_checkpoint(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("viz_app.widgets.checkpoint_choice.REPLACED", {"long-gone": "multi30k-de-en-words"})
    assert open_app(checkpoint="long-gone").selectbox(key="checkpoint").value == "multi30k-de-en-words"


def test_impossible_values_in_the_url_fall_back(open_app: OpenApp) -> None:
    app = open_app(layer="99", head="x", kind="y", length="-5")
    assert (app.selectbox(key="layer").value, app.selectbox(key="head").value) == ("3", "1")
    assert head_map(app).size


def test_sinusoids_on_the_screen_follow_the_formula(open_app: OpenApp) -> None:
    app = open_app("positions", checkpoint="multi30k-en-de")
    d_model = load_checkpoint(BUNDLED / "multi30k-en-de").model.config.d_model
    table = sinusoidal_table(64, d_model).numpy()
    matrix, curves, similarity = charts(app)
    np.testing.assert_allclose(array(matrix["data"][0]["z"]), table, atol=1e-6)
    np.testing.assert_allclose(array(curves["data"][2]["y"]), table[:, 16], atol=1e-6)
    unit = table / np.linalg.norm(table, axis=1, keepdims=True)
    np.testing.assert_allclose(array(similarity["data"][0]["z"]), unit @ unit.T, atol=1e-5)
    app.select_slider(key="width").set_value(64).run()
    app.select_slider(key="base").set_value(100).run()
    expected = sinusoidal_table(64, 64, base=100.0).numpy()
    np.testing.assert_allclose(array(charts(app)[0]["data"][0]["z"]), expected, atol=1e-6)
    assert any("what-if" in element.value for element in app.caption)


def test_a_learned_table_is_shown_unchanged(open_app: OpenApp) -> None:
    app = open_app("positions", checkpoint="multi30k-de-en-words")
    table = load_checkpoint(BUNDLED / "multi30k-de-en-words").model.encoder.embedding.positions.table
    np.testing.assert_array_equal(array(charts(app)[0]["data"][0]["z"]), table.detach().numpy()[:64])
    assert [slider.key for slider in app.slider] == ["length"]


def test_masks_and_scores_on_the_screen_equal_those_of_the_model(open_app: OpenApp, bundled: Checkpoint) -> None:
    app = open_app("masks", checkpoint=bundled.name, layer="2", head="3")
    batch = padded_batch(bundled, BATCHES[bundled.config.tokenizer.source_language])
    row = clearest_row(batch)
    padding, causal, combined, cross, before, after = charts(app)
    np.testing.assert_array_equal(array(padding["data"][0]["z"]), batch.padding_mask)
    np.testing.assert_array_equal(array(causal["data"][0]["z"]), np.tri(batch.read_ids.shape[1]))
    np.testing.assert_array_equal(array(combined["data"][0]["z"]), batch.allowed["decoder"][1, row])
    expected = np.broadcast_to(batch.source_ids[row] != 0, (batch.read_ids.shape[1], batch.source_ids.shape[1]))
    np.testing.assert_array_equal(array(cross["data"][0]["z"]), expected)
    stages = layer_stages(bundled, batch, "decoder", 1)
    np.testing.assert_allclose(array(before["data"][0]["z"]), stages["scores"][row, 2], atol=1e-5)
    np.testing.assert_array_equal(np.isnan(array(after["data"][0]["z"])), ~batch.allowed["decoder"][1, row])
    np.testing.assert_allclose(np.nan_to_num(head_map(app)), stages["weights"][row, 2], atol=1e-6)


def test_masks_need_two_sentences(open_app: OpenApp) -> None:
    app = open_app("masks", checkpoint="multi30k-en-de")
    for i in (1, 2, 4):
        app.text_area(key=f"batch_en_{i}").set_value("")
    app.run()
    assert "at least two" in app.info[0].value
    app.text_area(key="batch_en_1").set_value("🐕 </script>").run()
    assert not app.exception
    assert (len(charts(app)), len(maps(app))) == (6, 1)


def test_a_checkpoint_can_be_opened(open_app: OpenApp, bundled: Checkpoint) -> None:
    app = open_app("checkpoints", checkpoint=bundled.name)
    table = app.dataframe[0].value
    assert set(NAMES) <= set(table["checkpoint"])
    own = table[table["family"] == OUR_FAMILY]
    assert (own["BLEU"].notna() | own["accuracy"].notna()).all()
    row = table.set_index("checkpoint").loc[bundled.name]
    assert row["parameters"] == sum(p.numel() for p in bundled.model.parameters())
    for name in ("Model card", "Configuration", "Training curves"):
        tab(app, "checkpoint_tab", name)
    assert len(charts(app)) == 2
    assert tab(app, "checkpoint_tab", "Parameters").dataframe[1].value["parameters"].sum() == row["parameters"]


def test_an_unknown_format_of_history_gets_a_message(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(BUNDLED / "multi30k-en-de", tmp_path / "foreign")
    (folder / "history.csv").write_text("step,train_loss,valid_loss\n1,2.0,3.0\n")
    app = open_app("checkpoints")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    app.run()
    app.session_state["checkpoint_tab"] = "curves"
    app.selectbox(key="checkpoint").set_value("foreign").run()
    assert not app.exception
    assert "no history.csv that can be read" in app.info[0].value


def test_a_classifier_is_listed_and_opened_and_the_pages_for_translators_say_what_to_do(open_app: OpenApp) -> None:
    app = open_app("checkpoints", checkpoint="imdb-sentiment")
    row = app.dataframe[0].value.set_index("checkpoint").loc["imdb-sentiment"]
    assert (row["task"], row["layers"], row["languages"]) == ("classification", "1 + 0", "en")
    assert row["accuracy"] > 88
    app.session_state["checkpoint_tab"] = "curves"
    app.run()
    assert len(charts(app)) == 2
    app.switch_page("viz_app/pages/positions.py").run()
    assert not app.exception
    assert len(charts(app)) == 3
    assert any("rotary positions" in text.value for text in app.markdown)
    for page in ("translate", "steps"):
        app.switch_page(f"viz_app/pages/{page}.py").run()
        assert not app.exception
        assert "classifies texts and does not translate" in app.info[0].value
    app.selectbox(key="checkpoint").set_value("multi30k-en-de").run()
    assert not app.info


def test_a_new_checkpoint_appears_and_a_broken_one_gets_a_message(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    app = open_app("checkpoints")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    shutil.copytree(BUNDLED / "multi30k-en-de", tmp_path / "fresh")
    broken = shutil.copytree(BUNDLED / "multi30k-en-de", tmp_path / "broken")
    (broken / "config.json").write_text("{")
    truncated = shutil.copytree(BUNDLED / "multi30k-en-de", tmp_path / "truncated")
    (truncated / "model.safetensors").write_bytes((truncated / "model.safetensors").read_bytes()[:1000])
    app.run()
    assert not app.exception
    assert "fresh" in app.selectbox(key="checkpoint").options
    assert "broken" not in app.selectbox(key="checkpoint").options
    assert any("config.json of broken" in element.value.replace("\\", "") for element in app.warning)
    app.selectbox(key="checkpoint").set_value("truncated").run()
    assert not app.exception
    assert "damaged" in app.error[0].value
    app.selectbox(key="checkpoint").set_value("fresh").run()
    assert not app.error
    # A damaged one with learned positions is not what sinusoids are compared with.
    words = shutil.copytree(BUNDLED / "multi30k-de-en-words", tmp_path / "a-learned")
    (words / "model.safetensors").write_bytes(b"damaged")
    app.switch_page("viz_app/pages/positions.py").run()
    app.session_state["position_tab"] = "distances"
    app.run()
    assert not app.exception
    assert "learned" in app.dataframe[0].value


def test_without_any_checkpoint_the_page_says_what_to_do(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("model.config.paths.CHECKPOINTS", tmp_path)
    app = open_app()
    assert "python -m model train" in app.error[0].value

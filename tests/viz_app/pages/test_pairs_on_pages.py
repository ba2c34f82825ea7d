"""The second text of a pair: on each page that reads it, in the link, in the report and in BertViz."""

import json
from collections.abc import Callable
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.checkpoints.checkpoint import Checkpoint, ClassifierCheckpoint
from model.inference.classify import classify
from model.inference.opening import open_checkpoint
from model.inference.translate import translate
from model.text.pair import TextPair
from tests.pair_folders import make_pair_folder
from tests.viz_app.conftest import charts, component_data, head_map, html, in_url
from viz_app.export.bertviz_frame import PARAMETERS, document
from viz_app.export.report import report
from viz_app.server.server_state import MAX_CHARACTERS, cut
from viz_app.services.attention_view import view
from viz_app.session.choices import Choices

FIRST, SECOND = "The cat sat.", "A dog is <mask>."
OpenApp = Callable[..., AppTest]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("pairs")
    for name in ("bert", "classifier"):
        make_pair_folder(root / f"pair-{name}", name)
    return root


@pytest.fixture
def open_pair(open_app: OpenApp, folder: Path, monkeypatch: pytest.MonkeyPatch) -> OpenApp:
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(folder))
    return lambda page, name, **query: open_app(page, checkpoint=f"pair-{name}", **query)


def reader(folder: Path) -> Checkpoint:
    checkpoint = open_checkpoint(folder / "pair-bert")
    assert isinstance(checkpoint, Checkpoint)
    return checkpoint


def test_translate_shows_the_pair_of_its_link_and_keeps_it(open_pair: OpenApp, folder: Path) -> None:
    app = open_pair("translate", "bert", text=FIRST, second=SECOND, layer="2", head="3")
    expected = translate(reader(folder), FIRST, second=SECOND)
    np.testing.assert_allclose(head_map(app), expected.maps["encoder"][1, 2], atol=1e-6)
    labels = component_data(app, "attention_map")["keys"]
    assert labels[:2] == ["<s>", "A: the"]
    assert labels[-3:] == ["B: <mask>", "B: .", "</s>"]
    assert ">A:<" in html(app)
    app.text_input(key="second").set_value("").run()
    assert head_map(app).shape == (len(translate(reader(folder), FIRST).source),) * 2
    app.text_input(key="second").set_value("It is <mask> there.").run()
    assert in_url(app, "second") == "It is <mask> there."
    app.switch_page("viz_app/pages/inside.py").run()
    assert app.text_input(key="second").value == "It is <mask> there."
    assert any("The numbers on this page agree" in one.value for one in app.success)


@pytest.mark.parametrize("page", ["sentiment", "inside", "heads"])
def test_pages_of_a_classifier_read_the_pair(open_pair: OpenApp, folder: Path, page: str) -> None:
    checkpoint = open_checkpoint(folder / "pair-classifier")
    assert isinstance(checkpoint, ClassifierCheckpoint)
    app = open_pair(page, "classifier", review=FIRST, second="A dog.")
    found = classify(checkpoint, FIRST, second="A dog.")
    assert app.text_input(key="second").value == "A dog."
    if page == "sentiment":
        assert f"{found.probabilities[found.label]:.1%}".replace("%", "\N{NO-BREAK SPACE}%") in html(app)
        # Each of the two texts, shaded by attention and by deletion, names each of its parts once.
        assert (html(app).count("A:"), html(app).count("B:")) == (2, 2)
        assert classify(checkpoint, FIRST).probabilities != found.probabilities


@pytest.mark.parametrize("checkpoint", ["tiny-bert-en", "everyday-en-de", "tiny-gpt-en"])
def test_other_models_have_no_second_field(open_app: OpenApp, checkpoint: str) -> None:
    app = open_app(checkpoint=checkpoint, text="Tom has a cat.", second="Anna has a dog.")
    assert "second" not in {field.key for field in app.text_input}
    assert not app.error


def test_a_typed_separator_is_explained(open_pair: OpenApp) -> None:
    app = open_pair("translate", "bert", text=f"{FIRST} </s> {SECOND}")
    assert any("separates two texts" in one.value for one in app.caption)
    assert "B: dog" in component_data(app, "attention_map")["keys"]
    app.text_input(key="second").set_value("x").run()
    assert ["The first text contains" in one.value for one in app.error] == [True]


def test_a_batch_has_pairs(open_pair: OpenApp) -> None:
    batch = {"batch_masked_1": "A cat. </s> A dog <mask>.", "batch_masked_2": "It is <mask>."}
    app = open_pair("masks", "bert", sentence="1", **batch)
    assert any("A: cat" in chart and "B: dog" in chart for chart in map(str, charts(app)))


def test_side_by_side_says_where_a_model_reads_single_texts(open_pair: OpenApp) -> None:
    pair = {"text": FIRST, "second": SECOND}
    app = open_pair("compare", "bert", compare="checkpoints", beside="tiny-bert-en", **pair)
    assert any("reads single texts" in one.value for one in app.info)
    app = open_pair("compare", "bert", compare="sentences", second_text="A dog sat.", **pair)
    assert not app.error
    assert not app.info


def test_bertviz_shows_a_pair_with_its_menu(folder: Path) -> None:
    translation = translate(reader(folder), FIRST, second=SECOND)
    for hide_special in (False, True):
        shown = view(translation, "encoder", merge=False, hide_special=hide_special)
        page = document("head", "encoder", shown.maps, shown.axes, layer=1, head=None, second_start=shown.second_start)
        parts, _ = json.JSONDecoder().raw_decode(page, page.index(PARAMETERS) + len(PARAMETERS))
        whole, within_first, within_second, *_ = parts["attention"]
        assert whole["left_text"] == [*within_first["left_text"], *within_second["left_text"]]
        assert all(token.startswith("B: ") or token == "</s>" for token in within_second["left_text"])
        assert len(within_second["left_text"]) == (5 if hide_special else 6)
        assert ">from B to A<" in page


def test_the_report_holds_both_texts(folder: Path) -> None:
    translation = translate(reader(folder), FIRST, second=SECOND)
    page = report(translation, text=FIRST, second=SECOND, name="pair", made=date(2026, 1, 1))
    assert '"second":"A dog is \\u003cmask>."' in page
    assert page.count('"part":"B"') == sum(token.part == "B" for token in translation.source)


def test_both_texts_of_a_pair_are_cut_and_a_link_never_has_the_second_alone() -> None:
    assert cut(TextPair("a" * 30_000, "b" * 30_000)) == TextPair("a" * MAX_CHARACTERS, "b" * MAX_CHARACTERS)
    assert Choices(chosen={"text": "a" * 3_000, "second": "b"}).in_link() == {}
    assert Choices(chosen={"text": "a", "second": "b"}).in_link() == {"text": "a", "second": "b"}

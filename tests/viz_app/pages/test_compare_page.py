"""Side by side: both maps, their difference and the heads that differ, against the models themselves."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.analysis.statistics import moved_weight
from model.checkpoints.checkpoint import Checkpoint, load_checkpoint, read_config
from model.inference.translate import translate
from model.interventions import Head, Intervention
from tests.conftest import BUNDLED
from tests.viz_app.conftest import NAME, TEXT, array, charts, compared_lines, components, in_url, maps
from viz_app.content.catalogues import LANGUAGES
from viz_app.content.plain import plain
from viz_app.content.translation import in_language
from viz_app.sections.compare import words_in

OpenApp = Callable[..., AppTest]
HERE = {"layer": "2", "head": "4"}


def test_the_changed_model_is_shown_beside_the_trained_model(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    change = Intervention(ablated=frozenset({Head("cross", 0, 2), Head("encoder", 1, 3)}))
    app = open_app("compare", checkpoint=NAME, text=TEXT, compare="changed", intervention=change.code(), **HERE)
    before = translate(checkpoint, TEXT)
    after = translate(checkpoint, TEXT, edits=change.edits())
    assert compared_lines(app) == [before.text, after.text]
    forced = translate(
        checkpoint, TEXT, edits=change.edits(), forced={i: token.id for i, token in enumerate(before.written)}
    )
    (left, right, difference), (heads,) = maps(app), charts(app)
    np.testing.assert_allclose(left, before.maps["cross"][1, 3], atol=1e-6)
    np.testing.assert_allclose(right, forced.maps["cross"][1, 3], atol=1e-6)
    np.testing.assert_allclose(difference, right - left, atol=1e-6)
    assert [data["signed"] for data in components(app, "attention_map")] == [False, False, True]
    moved = moved_weight(before.maps["cross"], forced.maps["cross"])
    np.testing.assert_allclose(array(heads["data"][0]["z"]), moved, atol=1e-6)
    app.toggle(key="same_words").set_value(False).run()
    assert not app.exception
    np.testing.assert_allclose(maps(app)[1], after.maps["cross"][1, 3], atol=1e-6)


def test_a_note_of_doubt_names_its_side(open_app: OpenApp) -> None:
    chinese = "我爱你们的猫。"
    app = open_app("compare", checkpoint=NAME, text=TEXT, compare="sentences", second_text=chinese)
    notes = [caption.value for caption in app.caption if ":material/info:" in caption.value]
    assert [note.split(" ")[1] for note in notes] == ["**second**:"]
    app = open_app("compare", checkpoint=NAME, text=chinese, beside="gru-de-en")
    notes = [caption.value for caption in app.caption if ":material/info:" in caption.value]
    assert [note.split(" ")[1] for note in notes] == [f"**{plain(name)}**:" for name in (NAME, "gru-de-en")]


def test_two_checkpoints_with_different_vocabularies_write_the_same_words(open_app: OpenApp) -> None:
    app = open_app("compare", checkpoint="gru-de-en", text="Ein Hund rennt.", beside=NAME, **HERE)
    ours, theirs = (load_checkpoint(BUNDLED / name) for name in ("gru-de-en", NAME))
    first = translate(ours, "Ein Hund rennt.")
    assert compared_lines(app) == [first.text, translate(theirs, "Ein Hund rennt.").text]
    labels = [data["queries"] for data in components(app, "attention_map")]
    assert labels[0] == labels[1] == labels[2]
    for rows in maps(app)[:2]:
        np.testing.assert_allclose(rows.sum(axis=1), 1, atol=1e-5)  # rows of merged words also sum to 1
    ids = (*theirs.tokenizers.target.encode(first.text).ids, theirs.tokenizers.specials.eos)
    forced = translate(theirs, "Ein Hund rennt.", forced=dict(enumerate(ids)))
    assert forced.text == first.text
    assert maps(app)[1].shape[0] <= len(ids)


def test_the_first_checkpoint_to_compare_with_writes_the_same_language(open_app: OpenApp) -> None:
    app = open_app("compare", checkpoint="everyday-en-de", text="Hello!")
    assert app.selectbox(key="beside").value == "multi30k-en-de"
    assert "everyday-en-zh" in app.selectbox(key="beside").options
    assert "everyday-de-en" not in app.selectbox(key="beside").options


def test_a_checkpoint_that_cannot_be_opened_is_not_compared_at_first(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken"  # the only other checkpoint that writes Chinese, so it would be first
    shutil.copytree(BUNDLED / "everyday-en-zh", broken, ignore=shutil.ignore_patterns("*.safetensors"))
    (broken / "model.safetensors").write_bytes(b"no weights")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    app = open_app("compare", checkpoint="everyday-en-zh", text="Hello!")
    assert "broken" in app.selectbox(key="beside").options
    assert app.selectbox(key="beside").value == "everyday-en-de"
    assert not app.info
    assert not app.error


def test_two_target_languages_get_maps_but_no_difference(open_app: OpenApp) -> None:
    app = open_app("compare", checkpoint="everyday-en-de", text="I love you.", beside="everyday-en-zh")
    assert len(maps(app)) == 2
    assert any("different words" in caption.value for caption in app.caption)
    assert app.toggle(key="same_words").disabled


def test_without_attention_there_are_only_translations(open_app: OpenApp) -> None:
    app = open_app("compare", checkpoint="gru-de-en", text="Ein Hund rennt.", beside="gru-de-en-plain")
    assert not maps(app)
    assert len(compared_lines(app)) == 2
    assert "no attention" in app.info[0].value


def test_without_changes_a_link_leads_to_the_ablation_board(open_app: OpenApp) -> None:
    app = open_app("compare", checkpoint=NAME, text=TEXT, compare="changed")
    assert app.get("page_link")[0].proto.page == "heads"


@pytest.mark.parametrize("mode", ["checkpoints", "sentences"])
@pytest.mark.parametrize("text", ["", "🐕", "</script><b>$x$", "wort " * 120])
def test_any_text_gives_a_sensible_page(open_app: OpenApp, mode: str, text: str) -> None:
    app = open_app("compare", checkpoint="multi30k-de-en-words", text=text, compare=mode, second_text=text)
    assert not app.error


def test_moved_weight_is_the_share_of_a_row_on_other_keys() -> None:
    maps = np.array([[[[1.0, 0.0], [0.5, 0.5]]]], dtype=np.float32)
    others = np.array([[[[0.0, 1.0], [0.5, 0.5]]]], dtype=np.float32)
    assert moved_weight(maps, others)[0, 0] == pytest.approx(0.5)  # all of the first row, nothing of the second
    assert moved_weight(maps, maps)[0, 0] == 0


def test_a_change_to_heads_of_another_model_does_not_count(open_app: OpenApp) -> None:
    app = open_app(
        "compare", checkpoint="multi30k-en-de", text="A dog.", compare="changed", intervention="off.cross.1.8"
    )
    assert "Nothing is changed yet" in app.info[0].value


def test_the_url_keeps_the_choices_when_a_page_ends_early(open_app: OpenApp) -> None:
    app = open_app("compare", checkpoint="gru-de-en", text="Ein Hund.", beside="gru-de-en-plain")
    assert "no attention" in app.info[0].value
    app.segmented_control(key="compare").set_value("sentences").run()
    app.text_input(key="second_text").set_value("Eine lange Katze.").run()
    assert in_url(app, "compare") == "sentences"
    assert in_url(app, "second_text") == "Eine lange Katze."
    app = open_app("inside", checkpoint="gru-de-en", text="Ein Hund.")
    assert in_url(app, "checkpoint") == "gru-de-en"
    assert in_url(app, "text") == "Ein Hund."


def test_bleu_by_length_is_shown_for_two_networks_with_this_measurement(open_app: OpenApp) -> None:
    app = open_app("compare", checkpoint="gru-de-en", text="Ein Hund rennt.", beside="gru-de-en-plain")
    (figure,) = [chart for chart in charts(app) if chart["layout"]["xaxis"]["title"]["text"] == "words of the source"]
    for trace in figure["data"]:
        config = read_config(BUNDLED / trace["name"])
        assert dict(zip(trace["x"], trace["y"], strict=True)) == config.bleu_by_length
        assert len(trace["x"]) == 5
    # Without attention, long sentences lose more.
    lost = [trace["y"][0] - trace["y"][-1] for trace in figure["data"]]
    assert figure["data"][0]["name"] == "gru-de-en"
    assert lost[0] < lost[1]
    app = open_app("compare", checkpoint="everyday-en-zh", text="Hello.", beside="everyday-en-de")
    assert not app.expander


@pytest.mark.parametrize("language", LANGUAGES[1:])
def test_every_length_that_a_checkpoint_names_is_translated(language: str) -> None:
    lengths = read_config(BUNDLED / "gru-de-en").bleu_by_length
    with in_language(language):
        words = [words_in(length) for length in lengths]
    assert len(set(words)) == 5
    for length, shown in zip(lengths, words, strict=True):
        assert re.findall(r"\d+", shown) == re.findall(r"\d+", length)
        assert not re.search("[a-z]", shown)


def test_two_sentences_with_as_many_tokens_are_paired_by_position(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    texts = ("Ein Hund rennt.", "Ein Mann rennt.")
    app = open_app("compare", checkpoint=NAME, text=texts[0], compare="sentences", second_text=texts[1], **HERE)
    first, second = (translate(checkpoint, text).maps["cross"][1, 3] for text in texts)
    assert first.shape == second.shape
    _, _, difference = maps(app)
    np.testing.assert_allclose(difference, second - first, atol=1e-6)
    assert "Hund | Mann" in " ".join(components(app, "attention_map")[2]["keys"])
    app = open_app("compare", checkpoint=NAME, text=texts[0], compare="sentences", second_text="Ein Mann.", **HERE)
    assert len(maps(app)) == 2

"""Inside, beyond one head: a token layer by layer, early predictions, reasons for a word, and what was guessed."""

import base64
import json
import re
from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from model.analysis import zeroing
from model.analysis.contributions import contributions
from model.analysis.followed import Followed
from model.analysis.influence import Influence, influence
from model.analysis.lens import decoder_lens, logit_lens
from model.checkpoints.checkpoint import Checkpoint, load_checkpoint, load_classifier
from model.inference.translate import translate
from tests.conftest import BUNDLED
from tests.foreign_folders import make_folder
from tests.model.analysis.follow import contributions_to, follow, lens_of, stations_of, zeroing_of
from tests.viz_app.conftest import NAME, TEXT, array, charts, head_map, html, in_url, maps
from viz_app.services import analyses

OpenApp = Callable[..., AppTest]
STATIONS = "stations"
TABS = ("layers", "why", "read")


def influence_of(checkpoint: Checkpoint) -> Influence:
    return influence(follow(checkpoint, TEXT))


def test_the_grid_of_words_equals_the_lens(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    app = open_app("inside", checkpoint=NAME, text=TEXT, inside_tab=TABS[0])
    _, lens = lens_of(checkpoint, TEXT)
    (figure,) = charts(app)
    np.testing.assert_allclose(array(figure["data"][0]["z"]), lens.probabilities, atol=1e-5)
    text = figure["data"][0]["text"]  # each word has an ink with enough contrast
    shown = [[unescape(re.sub(r"</?span[^>]*>", "", word)) for word in row] for row in text]
    assert shown == [list(row) for row in lens.tokens]
    read = [token.text for token in translate(checkpoint, TEXT).read]
    repeated = sum(best == token for best, token in zip(lens.tokens[0], read, strict=True))
    assert repeated > len(read) / 2, "the first row is the input"
    assert any(f"no prediction. At {repeated} of {len(read)} positions" in caption.value for caption in app.caption)
    written = [text.removesuffix(" …") for text in app.dataframe[0].value["translation"]]
    assert written == [early.text for early in decoder_lens(checkpoint, TEXT)]


def test_the_parts_on_the_page_belong_to_the_chosen_words(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    app = open_app("inside", checkpoint=NAME, text=TEXT, inside_tab=TABS[1], query="1")
    word = translate(checkpoint, TEXT).written[1]
    rivals = [candidate.id for candidate in word.candidates if candidate.id != word.id]
    for rival in rivals[:2]:
        app.selectbox(key="rival").set_value(rival).run()
        assert not app.exception
        found = contributions_to(checkpoint, TEXT, 1, rival)
        z = array(charts(app)[0]["data"][0]["z"]).astype(float)
        expected = [found.heads["cross"], found.heads["decoder"], found.feed_forward[:, None]]
        np.testing.assert_allclose(z[:, ~np.isnan(z).all(axis=0)], np.concatenate(expected, axis=1), atol=1e-4)
        total = next(match for part in app.markdown if (match := re.search(r"= \*\*([+-][\d.]+)\*\*", part.value)))
        assert float(total[1]) == pytest.approx(found.difference, abs=2e-3)  # three decimals on the screen
    assert in_url(app, "rival") == str(rivals[1])


def test_the_bars_show_the_shares_of_source_and_target(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    app = open_app("inside", checkpoint=NAME, text=TEXT, inside_tab=TABS[2])
    found = influence_of(checkpoint)
    (bars,), (source, target, opinion) = charts(app), maps(app)
    np.testing.assert_allclose(opinion, zeroing_of(checkpoint, TEXT).shares, atol=1e-4)
    np.testing.assert_allclose(bars["data"][0]["y"], found.source.sum(axis=1), atol=1e-4)
    np.testing.assert_allclose(bars["data"][1]["y"], found.target.sum(axis=1), atol=1e-4)
    np.testing.assert_allclose(source, found.source, atol=1e-4)
    np.testing.assert_allclose(np.nan_to_num(target), found.target, atol=1e-4)


def test_a_text_that_is_too_long_for_value_zeroing_gets_a_sentence(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zeroing, "MAX_PRODUCTS", 1)
    app = open_app("inside", checkpoint=NAME, text=f"{TEXT} Now!", inside_tab=TABS[2])
    assert "too long for value zeroing" in app.info[0].value
    assert len(charts(app) + maps(app)) == 3  # the pictures of ALTI+


@pytest.mark.parametrize("tab", [STATIONS, *TABS])
@pytest.mark.parametrize("text", ["</script><b>$x$ [a](http://b) 🐕", "wort " * 120])
def test_any_text_gives_a_sensible_tab(open_app: OpenApp, tab: str, text: str) -> None:
    app = open_app("inside", checkpoint="multi30k-de-en-words", text=text, inside_tab=tab)
    assert not app.error
    assert charts(app) or maps(app) or "Shorten the sentence" in app.info[0].value


@pytest.mark.parametrize("tab", [STATIONS, *TABS])
@pytest.mark.parametrize("family", ["t5", "gpt2", "bert"])
def test_a_model_of_another_library_is_followed_too(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, others: Path, tab: str, family: str
) -> None:
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(others))
    text = "The cat <mask> on the mat." if family == "bert" else "The cat sat."
    app = open_app("inside", checkpoint=f"small-{family}", text=text, inside_tab=tab, station_code="true")
    assert charts(app) or maps(app)
    assert not app.error
    assert tab != STATIONS or "only rounding" in app.success[-1].value


REVIEW = "A wonderful film, and the acting is great."


@pytest.fixture(scope="module")
def classified() -> Followed:
    return follow(load_classifier(BUNDLED / "imdb-sentiment"), REVIEW)


def test_the_parts_of_a_class_are_those_of_the_classifier(open_app: OpenApp, classified: Followed) -> None:
    app = open_app("inside", checkpoint="imdb-sentiment", review=REVIEW, inside_tab=TABS[1])
    outcome = classified.result.outcome_at(0)
    rival = next(one.id for one in outcome.candidates if one.token == "negative")
    found = contributions(classified, 0, rival)
    assert outcome.text == "positive"
    z = array(charts(app)[0]["data"][0]["z"]).astype(float)
    expected = np.concatenate([found.heads["encoder"], found.feed_forward[:, None]], axis=1)
    np.testing.assert_allclose(z[:, ~np.isnan(z).all(axis=0)], expected, atol=1e-4)


def test_the_class_after_each_layer_and_the_shares_of_tokens(open_app: OpenApp, classified: Followed) -> None:
    app = open_app("inside", checkpoint="imdb-sentiment", review=REVIEW, inside_tab=TABS[0])
    lens = logit_lens(classified)
    np.testing.assert_allclose(array(charts(app)[0]["data"][0]["z"]), lens.own, atol=1e-4)
    app = open_app("inside", checkpoint="imdb-sentiment", review=REVIEW, inside_tab=TABS[2])
    found = influence(classified)
    np.testing.assert_allclose(head_map(app)[0], found.pooled, atol=1e-4)


def test_a_token_of_a_review_is_followed_to_the_class(open_app: OpenApp, classified: Followed) -> None:
    app = open_app("inside", checkpoint="imdb-sentiment", review=REVIEW, inside_tab=STATIONS, station_code="true")
    assert "only rounding" in app.success[-1].value
    table = app.dataframe[0].value
    assert table["token"].tolist() == ["positive", "negative"]
    own = {one.token: one.probability for one in classified.result.outcome_at(0).candidates}
    np.testing.assert_allclose(table["probability"], [own["positive"], own["negative"]], atol=1e-5)


def test_parts_that_do_not_add_up_are_an_error_and_no_picture(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = "viz_app.sections.inside.why_this_word.contributions_in"
    monkeypatch.setattr(page, lambda *args: replace(contributions(*args), difference=99.0))
    app = open_app("inside", checkpoint=NAME, text=f"{TEXT} Where?", inside_tab=TABS[1])
    assert "but the difference of the model's own logits is 99.000" in app.error[0].value
    assert not charts(app)


def test_a_translation_after_each_layer_has_a_time_limit(open_app: OpenApp, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analyses, "MOST_SECONDS", 0.0)
    app = open_app("inside", checkpoint=NAME, text=f"{TEXT} Here!", inside_tab=TABS[0])
    assert "One translation after each layer would take" in app.info[0].value
    assert charts(app), "the lens of the decoder is drawn"


@pytest.mark.parametrize("tab", [TABS[0], TABS[1]])
def test_a_reader_without_a_masked_token_says_what_to_type(
    open_app: OpenApp, monkeypatch: pytest.MonkeyPatch, others: Path, tab: str
) -> None:
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(others))
    app = open_app("inside", checkpoint="small-bert", text="The cat sat on the mat.", inside_tab=tab)
    assert r"Type \<mask\> in place of a word" in app.info[0].value
    assert not charts(app)


@pytest.fixture(scope="module")
def others(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("others")
    for family in ("t5", "gpt2", "bert"):
        make_folder(root / f"small-{family}", family)
    return root


@pytest.mark.parametrize("stack", ["encoder", "decoder"])
def test_layer_by_layer_draws_every_station_with_its_numbers_and_its_code(
    open_app: OpenApp, checkpoint: Checkpoint, stack: str
) -> None:
    app = open_app(
        "inside",
        checkpoint=NAME,
        text=TEXT,
        inside_tab=STATIONS,
        stack=stack,
        station_layer="2",
        station_place="3",
        station_code="true",
    )
    _, found, _ = stations_of(checkpoint, TEXT, stack, 1, 2)
    (figure,) = charts(app)
    np.testing.assert_allclose(array(figure["data"][0]["z"]), [one.vector for one in found], atol=1e-4)
    shown = [
        json.loads(e.proto.json) for e in app.get("bidi_component") if e.proto.component_name.endswith("derivation")
    ]
    assert [one["alt"] for one in shown] == [one.name for one in found if one.steps]
    for one, station in zip(shown, (one for one in found if one.steps), strict=True):
        assert [step["name"] for step in one["steps"]] == [step.name for step in station.steps]
        words = [["".join(word for word, _ in line["words"]) for line in function] for function in one["code"]]
        assert words == [[line.text for line in function] for function in station.code]
        for step, own in zip(one["steps"], station.steps, strict=True):
            levels = np.frombuffer(base64.b64decode(step["levels"]), dtype=np.uint8).reshape(own.numbers.shape)
            assert step["width"] == own.numbers.shape[1]
            np.testing.assert_array_equal(levels == 255, np.isneginf(own.numbers))
            bound = float(np.abs(own.numbers[np.isfinite(own.numbers)]).max(initial=0.0))
            shares = own.numbers if own.shares else (own.numbers / max(bound, 1e-6) + 1) / 2
            np.testing.assert_allclose(levels[levels < 254] / 253, shares[levels < 254], atol=0.5 / 253 + 1e-6)
    assert "only rounding" in app.success[-1].value
    app.toggle(key="station_code").set_value(False).run()
    assert not any(e.proto.component_name.endswith("derivation") for e in app.get("bidi_component")), (
        "the short version"
    )
    assert [formula.value.strip("$\n") for formula in app.latex][: len(found)] == [one.formula for one in found]


@pytest.mark.parametrize("name", ["everyday-zh-en", "multi30k-de-en-words"])
def test_the_last_layer_ends_in_the_ten_most_likely_words(open_app: OpenApp, name: str) -> None:
    app = open_app("inside", checkpoint=name, text="", inside_tab=STATIONS)
    assert not charts(app)
    app = open_app(
        "inside", checkpoint=name, text="你好 Hallo", inside_tab=STATIONS, station_place="1", station_code="true"
    )
    first = translate(load_checkpoint(BUNDLED / name), "你好 Hallo").written[0]
    table = app.dataframe[0].value
    assert len(table) == 10
    assert table["probability"].max() == pytest.approx(max(c.probability for c in first.candidates), abs=1e-3)


def test_a_chip_has_a_bar_with_its_share_from_the_source(open_app: OpenApp, checkpoint: Checkpoint) -> None:
    assert 'class="hl-share"' not in html(open_app("translate", checkpoint=NAME, text=TEXT))
    app = open_app("translate", checkpoint=NAME, text=TEXT, shares="true")
    found = influence_of(checkpoint)
    bars = [float(width) for width in re.findall(r'class="hl-share"><span style="width:([\d.]+)%', html(app))]
    np.testing.assert_allclose(bars, 100 * found.source.sum(axis=1), atol=0.1)
    app = open_app("translate", checkpoint="gru-de-en", text=TEXT, shares="true")
    assert 'class="hl-share"' not in html(app)

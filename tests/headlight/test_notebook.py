"""What a notebook shows of a translation: the numbers of the model, and nothing that a text could break."""

import base64
import html
import json
import re
from datetime import date
from typing import Any

import numpy as np
import pytest

from headlight import ClassifierCheckpoint, OpenCheckpoint, ShownTranslation, open_checkpoint
from model.checkpoints.checkpoint import CheckpointError
from tests.viz_app.conftest import array
from viz_app.content.translation import in_language
from viz_app.export.report import MAX_TOKENS, TooLongError, report

TEXT = "A dog runs </script><b>through & the snow."


@pytest.fixture(scope="module")
def opened() -> OpenCheckpoint:
    found = open_checkpoint("everyday-en-de")
    assert isinstance(found, OpenCheckpoint)
    return found


@pytest.fixture(scope="module")
def shown(opened: OpenCheckpoint) -> ShownTranslation:
    return opened.translate(TEXT)


def data_in(page: str, name: str) -> dict[str, Any]:
    """What a block of data of the report holds."""
    (found,) = re.findall(rf'<script type="application/json" id="{name}">(.*?)</script>', page, flags=re.S)
    return dict(json.loads(found))


@pytest.mark.parametrize("kind", ["cross", "encoder", "decoder"])
def test_the_report_has_exactly_the_numbers_of_the_model(shown: ShownTranslation, kind: str) -> None:
    (run,) = data_in(shown.html(), "recorded")["runs"].values()
    maps = run["maps"][kind]
    numbers = np.frombuffer(base64.b64decode(maps["data"]), dtype="<f4").reshape(maps["shape"])
    np.testing.assert_array_equal(numbers, shown.maps[kind])
    assert [token["text"] for token in run["source"]] == [token.text for token in shown.source]
    assert run["start"]["text"] == shown.read[0].text
    for found, token in zip(run["written"], shown.written, strict=True):
        assert (found["text"], found["id"], found["word"]) == (token.text, token.id, token.word)
        assert (found["probability"], found["entropy"]) == (token.probability, token.entropy)
        best = [(one["text"], one["probability"], one["id"]) for one in found["candidates"]]
        assert best == [(one.token, one.probability, one.id) for one in token.candidates]


def test_the_report_names_forced_words(opened: OpenCheckpoint) -> None:
    assert data_in(opened.translate("A dog runs.").html(), "site")["report"]["note"] == ""
    forced = opened.translate("A dog runs.", forced={0: 300})
    note = data_in(forced.html(), "site")["report"]["note"]
    assert note == "This is not the model's own translation: words were forced."


def test_a_text_with_markup_stays_text_in_the_report(shown: ShownTranslation) -> None:
    page = shown.html()
    assert "<b>through" not in page
    assert data_in(page, "site")["report"]["text"] == TEXT
    assert page.count("</script>") == page.count("<script") == 5, "three blocks of data, the start and the code"
    assert "http" not in re.sub(r'http-equiv|http://www.w3.org/2000/svg|"http"', "", page)


def test_a_name_of_a_part_of_the_page_stays_text_in_the_report(opened: OpenCheckpoint) -> None:
    text = "{icon} {policy} runs."
    assert data_in(opened.translate(text).html(), "site")["report"]["text"] == text


def test_a_report_has_the_language_of_its_visitor_and_the_same_numbers(shown: ShownTranslation) -> None:
    with in_language("ko"):
        page = shown.html()
    site = data_in(page, "site")
    assert site["report"]["link"].endswith("lang=ko")
    words = dict(zip(site["words"]["en"], site["words"]["ko"], strict=True))
    assert words["Save picture"] == "그림 저장"
    assert data_in(page, "recorded") == data_in(shown.html(), "recorded")


def test_a_report_of_fifteen_tokens_is_small(opened: OpenCheckpoint) -> None:
    found = opened.translate("My sister bought a small red car in Berlin last week, I think.")
    assert len(found.source) >= 15
    assert len(found.html().encode()) < 1_500_000


def test_a_text_that_is_too_long_for_a_report_is_refused(opened: OpenCheckpoint) -> None:
    long = opened.translate("word " * (MAX_TOKENS + 5))
    with pytest.raises(TooLongError, match=f"can hold {MAX_TOKENS}"):
        report(long, text="", name="", made=date(2026, 1, 1))
    assert "Try a shorter text" in long._repr_html_()


def test_a_notebook_shows_the_report_in_a_frame(shown: ShownTranslation) -> None:
    frame = shown._repr_html_()
    assert frame.count("<") == 2  # all else is escaped
    assert html.unescape(re.findall(r'srcdoc="(.*?)"', frame, flags=re.S)[0]) == shown.html()


def test_the_table_has_every_weight(shown: ShownTranslation) -> None:
    table = shown.frame()
    assert len(table) == sum(maps.size for maps in shown.maps.values())
    rows = table[(table["attention"] == "cross") & (table["layer"] == 2) & (table["head"] == 5)]
    np.testing.assert_array_equal(rows["weight"].to_numpy(), shown.maps["cross"][1, 4].ravel())


def test_a_figure_has_the_map_that_was_asked_for(shown: ShownTranslation) -> None:
    figure = shown.plot("cross", layer=1, head=4).to_plotly_json()
    np.testing.assert_allclose(array(figure["data"][0]["z"]), shown.maps["cross"][1, 4], atol=1e-6)
    assert "layer 2, head 5" in figure["layout"]["title"]["text"]
    with pytest.raises(KeyError, match="It has cross, encoder, decoder"):
        shown.plot("sideways")
    with pytest.raises(IndexError):
        shown.plot("cross", layer=99)


def test_a_checkpoint_opens_by_name_and_an_unknown_name_lists_all() -> None:
    assert isinstance(open_checkpoint("imdb-sentiment"), ClassifierCheckpoint)
    with pytest.raises(CheckpointError, match=r"Choose one of these: .*everyday-en-de"):
        open_checkpoint("everyday-xx")

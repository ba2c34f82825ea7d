"""Input from outside is shown as text, never as markup."""

import json
import re
import shutil
import time
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from tests.conftest import BUNDLED
from viz_app.content.cards import read_card
from viz_app.content.plain import card, plain, visible
from viz_app.services.listing import CheckpointKey, model_card

OpenApp = Callable[..., AppTest]
PICTURE = "a![p](//host1)b"  # one token of the words model


def test_every_sign_of_markdown_is_escaped() -> None:
    signs = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"
    assert plain(signs) == "".join(f"\\{sign}" for sign in signs)
    assert plain("Straße 北京 42") == "Straße 北京 42"
    assert plain("a\n# b\tc") == "a↵\\# b⇥c"
    assert visible("a\r\nb") == "a␍↵b"


def test_pictures_in_a_card_become_links_and_diagrams_become_code() -> None:
    text = "# T\n![a](//h/a.png) ![b][c]\n\n```mermaid\ngraph LR\n```\n~~~ mer&#109;aid x\n~~~\n`![d](e)` **bold**"
    shown = card(text)
    assert "![" not in shown
    assert "mer" not in shown
    assert "**bold**" in shown
    assert "```\ngraph LR\n```" in shown


def test_the_metadata_of_a_card_are_left_out_except_for_its_licence(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("---\nlanguage: en\nlicense: mit\n---\n# Name\nA card.", encoding="utf-8")
    found = read_card(tmp_path, "en")
    assert (found.text, found.licence) == ("A card.", "mit")
    (tmp_path / "README.md").write_text("license: none of these are metadata", encoding="utf-8")
    assert read_card(tmp_path, "en").licence == ""


@pytest.mark.parametrize("page", ["inside", "steps"])
def test_markup_in_a_token_is_shown_as_text(open_app: OpenApp, page: str) -> None:
    app = open_app(page, checkpoint="multi30k-de-en-words", kind="encoder", query="0", text=PICTURE)
    said = [element.value for element in (*app.markdown, *app.caption)]
    assert not any("![" in text for text in said)
    if page == "inside":
        assert any(visible(PICTURE) in unescape(element.proto.body) for element in app.get("html"))


def test_markup_in_a_foreign_checkpoint_is_shown_as_text(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = shutil.copytree(BUNDLED / "imdb-sentiment", tmp_path / "foreign")
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    config["model"]["labels"] = ["<img src=//host1>", PICTURE]
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    (folder / "README.md").write_text(f"# Card\n{PICTURE} <img src=//host1>", encoding="utf-8")
    app = open_app("sentiment")
    monkeypatch.setenv("HEADLIGHT_CHECKPOINTS", str(tmp_path))
    app.run()
    app.selectbox(key="checkpoint").set_value("foreign").run()
    assert not app.exception
    assert not any("<img" in element.proto.body for element in app.get("html"))
    markdown = [element.value for element in (*app.markdown, *app.caption)]
    markdown += [element.proto.text for element in app.get("progress")]
    assert len([text for text in markdown if "host" in text]) >= 3
    assert not any("![" in text or re.search(r"(?<!\\)<img", text) for text in markdown)
    app.switch_page("viz_app/pages/checkpoints.py").run()
    assert not any("![" in element.value for element in app.markdown)


def test_without_any_checkpoint_the_page_names_the_remedy(
    open_app: OpenApp, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("model.config.paths.CHECKPOINTS", tmp_path)
    app = open_app("checkpoints")
    assert "python -m model train" in app.error[0].value


def test_text_after_code_in_a_line_stays() -> None:
    assert card("see ```x``` and more text") == "see ```x``` and more text"
    assert card("```mermaid\ngraph\n```") == "```\ngraph\n```"


def test_the_headings_of_a_card_are_below_those_of_the_page() -> None:
    shown = card("# Card\n\nUnder\n===\n\n```sh\n# a comment\n```\n## Part\n##### Detail\n#tag")
    headings = [line for line in shown.splitlines() if line.startswith("#")]
    assert headings == ["### Card", "### Under", "# a comment", "#### Part", "###### Detail", "#tag"]
    assert card("### Third\ntext") == "### Third\ntext"


@pytest.mark.parametrize(
    "hostile",
    ["\n" * 50_000, ">" * 50_000, "~" * 50_000 + "`", "```\n" * 12_000, "=\n" * 25_000, "a\n" + "=" * 50_000 + "x"],
    ids=lambda text: repr(text[:4]),
)
def test_a_card_takes_time_in_proportion_to_its_length(hostile: str) -> None:
    began = time.process_time()
    card(hostile)
    assert time.process_time() - began < 5  # about 0.1 s; a quadratic pattern takes a minute


def test_only_the_start_of_a_long_card_is_read(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Title\n" + "word " * 100_000, encoding="utf-8")
    card = model_card.__wrapped__(CheckpointKey(path=str(tmp_path), version=""), "en")
    assert card.cut
    assert 49_000 < len(card.text) < 51_000
    assert card.text.startswith("word word")

"""The READMEs and the model cards in other languages have the commands and the figures of the English ones."""

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import BUNDLED, ROOT
from viz_app.content.catalogues import LANGUAGES
from viz_app.content.plain import card
from viz_app.services.listing import list_one, model_card

TRANSLATED = LANGUAGES[1:]
FOLDERS = sorted(path.parent for path in BUNDLED.glob("*/config.json"))
BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`[^`\n]+`")
NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
MYRIADS = re.compile(r"(\d+) ?[万만]")  # "570 万" is "5.7 million"


def commands(text: str) -> list[list[str]]:
    """The lines of each code block, without comments."""
    return [[line.partition(" #")[0].rstrip() for line in block.splitlines()] for block in BLOCK.findall(text)]


def numbers(text: str) -> Counter[str]:
    text = MYRIADS.sub(lambda found: f"{int(found[1]) / 100:.1f}", text)
    return Counter(NUMBER.findall(text))


def shape(text: str) -> list[str]:
    """What each line is: a heading, an item of a list, a row of a table with its number of cells, or other text."""
    lines = filter(None, BLOCK.sub("```", text).splitlines())
    return [
        "|" * CODE.sub("", line).count("|")
        or next((mark for mark in ("# ", "- ", "**", "```") if line.startswith(mark)), "")
        for line in lines
    ]


def differences(english: str, translated: str) -> list[str]:
    """What a translated card has lost or invented."""
    found = []
    if BLOCK.findall(english) != BLOCK.findall(translated):
        found.append("blocks of code")
    if Counter(CODE.findall(BLOCK.sub("", english))) != Counter(CODE.findall(BLOCK.sub("", translated))):
        found.append("code")
    if lost := numbers(english) - numbers(translated):
        found.append(f"numbers that are lost: {sorted(lost)}")
    if invented := numbers(translated) - numbers(english):
        found.append(f"numbers that are new: {sorted(invented)}")
    if shape(english) != shape(translated):
        found.append("lines")
    return found


@pytest.mark.parametrize("language", TRANSLATED)
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_card_has_the_figures_and_the_commands_of_the_english_card(folder: Path, language: str) -> None:
    english = (folder / "README.md").read_text(encoding="utf-8")
    translated = (folder / f"README.{language}.md").read_text(encoding="utf-8")
    assert differences(english, translated) == []
    assert translated.partition(":")[0] == english.partition(":")[0], "the name of the checkpoint"


@pytest.mark.parametrize(
    ("english", "translated"),
    [
        ("38.10 BLEU", "BLEU 38.01"),
        ("4.5 million parameters", "参数 45 万个"),
        ("run `a b`", "运行 `a c`"),
        ("```sh\na\n```", "```sh\nb\n```"),
        ("| a | b |", "| a |"),
        ("two\n\nlines", "한 줄"),
    ],
)
def test_a_card_that_differs_is_found(english: str, translated: str) -> None:
    assert differences(english, english) == []
    assert differences(english, translated)


@pytest.mark.parametrize("language", TRANSLATED)
def test_the_page_shows_the_card_in_the_language_of_the_visitor(language: str, tmp_path: Path) -> None:
    folder = BUNDLED / "gru-de-en"
    translated = (folder / f"README.{language}.md").read_text(encoding="utf-8")
    assert model_card(list_one(folder).key, language).text == card(translated.partition("\n")[2])
    (tmp_path / "README.md").write_text("# Card\nOnly in English.", encoding="utf-8")
    assert model_card(list_one(tmp_path).key, language).text == "Only in English."


@pytest.mark.parametrize("language", TRANSLATED)
def test_the_start_of_a_readme_has_the_commands_of_the_english_readme(language: str) -> None:
    english = (ROOT / "README.md").read_text(encoding="utf-8")
    translated = (ROOT / f"README.{language}.md").read_text(encoding="utf-8")
    start = english.partition("\n## Start\n")[2].partition("\n## ")[0]
    assert commands(translated) == commands(start)
    assert commands(start)
    assert set(CODE.findall(BLOCK.sub("", start))) <= set(CODE.findall(translated))


def test_the_first_line_of_each_readme_links_to_the_others() -> None:
    names = {"en": "README.md"} | {code: f"README.{code}.md" for code in TRANSLATED}
    for code, name in names.items():
        first = (ROOT / name).read_text(encoding="utf-8").partition("\n")[0]
        assert set(re.findall(r"\]\((.*?)\)", first)) == set(names.values()) - {names[code]}


@pytest.mark.parametrize("language", TRANSLATED)
def test_a_link_into_the_english_readme_leads_to_a_heading(language: str) -> None:
    headings = re.findall(r"^## (.+)$", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    anchors = {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}
    links = re.findall(r"\(README\.md#(.*?)\)", (ROOT / f"README.{language}.md").read_text(encoding="utf-8"))
    assert links
    assert set(links) <= anchors

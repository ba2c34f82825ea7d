"""Texts of other scripts: Chinese in a saved picture, and Arabic from right to left in chips and in a map."""

from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

from playwright.sync_api import Page, expect

from tests.browser.conftest import settle

Visit = Callable[..., Page]
SVG = "{http://www.w3.org/2000/svg}"
ARABIC = ["شاهد", "رجل", "كلب"]


def test_a_saved_picture_has_the_words_and_the_fonts_of_its_language(visit: Visit) -> None:
    page = visit("?lang=zh&checkpoint=everyday-zh-en&text=火车站在哪里？")
    settle(page)
    menu = page.locator(".st-key-head_map .hl-save")
    menu.locator("summary").click()
    with page.expect_download() as download:
        menu.get_by_role("button", name="SVG").click()
    assert download.value.suggested_filename.isascii()
    drawing = ElementTree.parse(Path(download.value.path())).getroot()
    texts = {"".join(text.itertext()): text for text in drawing.iter(f"{SVG}text")}
    assert {"键：源 token", "注意力权重", "火", "检查点：everyday-zh-en"} <= texts.keys()
    assert drawing.get("lang") == "zh-Hans"
    fonts = texts["火"].get("font-family", "")
    assert 0 < fonts.index("Noto Sans CJK SC") < fonts.index("Noto Sans CJK KR")
    # A letter that is drawn as a box, or squeezed, has another width.
    assert float(texts["火"].get("textLength", 0)) == 14


def test_an_arabic_sentence_runs_from_right_to_left(visit: Visit) -> None:
    page = visit(f"?checkpoint=multi30k-de-en-words&text={' '.join(ARABIC)}")
    settle(page)
    chips = page.locator(".hl-row[data-row=reads] .hl-chip bdi")
    expect(chips.first).to_have_text(ARABIC[0])
    boxes = [box for chip in chips.all() if (box := chip.bounding_box())]
    assert [box["x"] for box in boxes] == sorted((box["x"] for box in boxes), reverse=True)
    labels = page.locator(".st-key-head_map svg.map text").all_text_contents()
    assert [label for label in labels if "\u2068" in label] == [f"\u2068{word}\u2069" for word in ARABIC]
    field = page.get_by_label("Type a sentence in German and press Enter")
    assert field.evaluate("(element) => getComputedStyle(element).unicodeBidi") == "plaintext"

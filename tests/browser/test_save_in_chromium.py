"""Pictures saved from the page in a real browser: as SVG, PNG and PDF, on white, with what they are of."""

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from model.checkpoints.checkpoint import load_checkpoint
from model.inference.translate import translate
from tests.browser.conftest import settle
from tests.conftest import BUNDLED
from viz_app.figures.colours import palette

Visit = Callable[..., Page]
TEXT = "A dog </script> runs & barks."
SVG = "{http://www.w3.org/2000/svg}"
INK = "#1b2530"


def save(page: Page, menu: Locator, form: str, folder: Path) -> Path:
    settle(page)
    menu.locator("summary").click()
    with page.expect_download() as download:
        menu.get_by_role("button", name=form).click()
    file = folder / download.value.suggested_filename
    download.value.save_as(file)
    return file


def words_of(drawing: ElementTree.Element) -> list[str]:
    return ["".join(text.itertext()) for text in drawing.iter(f"{SVG}text")]


def cells_of(drawing: ElementTree.Element, width: float) -> dict[tuple[float, float], str]:
    """The colour of each block of this width, by its left upper corner."""
    blocks = [block for block in drawing.iter(f"{SVG}rect") if float(block.get("width", 0)) == width]
    return {(float(block.get("y", 0)), float(block.get("x", 0))): block.get("fill", "") for block in blocks}


def test_a_chart_is_saved_with_its_numbers_and_what_it_is_of(visit: Visit, tmp_path: Path) -> None:
    page = visit(
        f"?checkpoint=everyday-en-de&layer=3&head=2&text={TEXT.replace('&', '%26')}", scheme="dark", kept=False
    )
    page.context.add_init_script("window.print = () => { top.printed = document.documentElement.outerHTML; }")
    menu = page.locator(".st-key-head_map .hl-save")
    file = save(page, menu, "SVG", tmp_path)
    drawing = ElementTree.parse(file).getroot()
    found = translate(load_checkpoint(BUNDLED / "everyday-en-de"), TEXT)
    words = words_of(drawing)
    # Short and whole, in one line above the picture.
    assert drawing.findtext(f"{SVG}title") == words[0] == "Cross-attention, layer 3, head 2"
    for said in (
        "query: target token being written",
        "key: source token",
        "attention weight",
        "Checkpoint: everyday-en-de",
        f"Sentence: {TEXT}",
        f"Translation: {found.text}",
        f"Date: {date.today()}, made with Headlight",
        found.source[1].text,
        found.written[1].text,
    ):
        assert said in words
    assert drawing.find(f"{SVG}rect").get("fill") == "#ffffff"
    # Those of the dark theme would be pale on paper.
    assert {text.get("fill") for text in drawing.iter(f"{SVG}text")} == {INK}

    weights = found.maps["cross"][2, 1]
    first = page.locator('.st-key-head_map [data-cell="0,0"]')
    cells = cells_of(drawing, float(first.get_attribute("width") or 0))
    assert len(cells) == weights.size
    colours = np.array([[int(cells[at][i : i + 2], 16) for i in (1, 3, 5)] for at in sorted(cells)])
    wanted = palette()[(weights.ravel() * 255).round().astype(int), :3]
    # The browser mixes the colours itself, ours are 256: half a step of one is up to 3 of 255, the rounding 1.
    np.testing.assert_allclose(colours, wanted, atol=6)

    picture = Image.open(save(page, menu, "PNG", tmp_path))
    width, height = (int(drawing.get(side, "")) for side in ("width", "height"))
    assert picture.size == (3 * width, 3 * height)
    assert picture.getpixel((5, 5))[:3] == (255, 255, 255)

    menu.locator("summary").click()
    menu.get_by_role("button", name="PDF").click()
    page.wait_for_function("window.printed")
    sheet = page.context.new_page()
    sheet.set_content(page.evaluate("window.printed"))
    document = sheet.pdf(prefer_css_page_size=True)
    assert document.startswith(b"%PDF")
    assert len(re.findall(rb"/Type ?/Page\b", document)) == 1


def test_an_own_picture_is_saved_by_keys(visit: Visit, tmp_path: Path) -> None:
    page = visit("?checkpoint=everyday-en-de&view=lines&layer=3&head=2", scheme="dark")
    picture = page.locator("svg[data-lines]")
    settle(page)
    summary = page.locator(".st-key-line_view .hl-save summary")
    summary.focus()
    summary.press("Enter")
    choice = page.locator(".st-key-line_view .hl-save").get_by_role("button", name="SVG")
    expect(choice).to_be_visible()
    choice.press("Escape")
    expect(choice).to_be_hidden()
    expect(summary).to_be_focused()
    summary.press("Enter")
    with page.expect_download() as download:
        choice.press("Enter")
    drawing = ElementTree.parse(download.value.path()).getroot()
    assert "layer 3, head 2" in drawing.findtext(f"{SVG}title", "")
    assert "Checkpoint: everyday-en-de" in words_of(drawing)
    assert len(list(drawing.iter(f"{SVG}line"))) == picture.locator("line").count() > 0
    assert {text.get("fill") for text in drawing.iter(f"{SVG}text")} == {INK}
    expect(summary).to_be_focused()


def test_the_words_and_the_lines_between_them_are_saved(visit: Visit, tmp_path: Path) -> None:
    page = visit(f"?checkpoint=everyday-en-de&layer=3&head=2&text={TEXT.replace('&', '%26')}", scheme="dark")
    found = translate(load_checkpoint(BUNDLED / "everyday-en-de"), TEXT)
    drawn = int((found.maps["cross"][2, 1] >= 0.2).sum())
    expect(page.locator(".hl-looks > svg line")).to_have_count(drawn)
    drawing = ElementTree.parse(save(page, page.locator(".hl-looks .hl-save"), "SVG", tmp_path)).getroot()
    assert "cross-attention, layer 3, head 2" in drawing.findtext(f"{SVG}title", "")
    words = words_of(drawing)
    tokens = [token.text.strip() for token in (*found.source, *found.written)]
    assert [word for word in words if word in tokens] == tokens  # and nothing of what opens over them
    assert f"Sentence: {TEXT}" in words
    assert len(list(drawing.iter(f"{SVG}line"))) == drawn
    boxes = [rect for rect in drawing.iter(f"{SVG}rect") if float(rect.get("rx") or 0)]
    assert len(boxes) == len(tokens)
    assert {text.get("fill") for text in drawing.iter(f"{SVG}text")} == {INK}
    # The lines are still there and can be saved again.
    expect(page.locator(".hl-looks > svg line")).to_have_count(drawn)
    expect(page.locator(".hl-looks .hl-save")).to_have_count(1)


def test_words_without_lines_are_not_saved_and_long_words_stay_in_their_chips(visit: Visit, tmp_path: Path) -> None:
    page = visit("?kind=encoder&text=A+dog+runs.")
    expect(page.locator(".hl-looks .hl-save")).to_have_count(1)
    expect(page.locator(".hl-looks .hl-save")).to_be_hidden()
    word = "Donaudampfschifffahrtsgesellschaftskapitaensmuetzenabzeichen"
    page = visit(f"?checkpoint=multi30k-de-en-words&text=Ein+{word}+steht+hier.")
    expect(page.locator(".hl-looks > svg line").first).to_be_attached()
    drawing = ElementTree.parse(save(page, page.locator(".hl-looks .hl-save"), "SVG", tmp_path)).getroot()
    long = next(text for text in drawing.iter(f"{SVG}text") if (text.text or "").startswith(word[:12].lower()))
    box = page.get_by_text(word.lower()).first.bounding_box()
    assert (long.text or "").endswith("…")
    assert box
    assert float(long.get("textLength", "")) <= box["width"]


def test_a_station_is_saved_with_its_numbers_its_code_and_its_picture(visit: Visit, tmp_path: Path) -> None:
    page = visit("inside?inside_tab=stations&station_code=true&text=A+dog+runs.")
    menu = page.locator(".root:has(.derivation) + .hl-save")
    drawing = ElementTree.parse(save(page, menu.first, "SVG", tmp_path)).getroot()
    assert drawing.findtext(f"{SVG}title") == "1. Token embedding: Decoder, layer 3, “Ein”"
    text = " ".join(words_of(drawing))
    shown = page.locator(".derivation").first.inner_text()
    for said in re.findall(r"[\w.]+", shown):
        assert said in text, said
    (image,) = drawing.iter(f"{SVG}image")
    assert image.get("href", "").startswith("data:image/png;base64,")


def test_a_saved_view_of_bertviz_is_legible_on_paper(visit: Visit, tmp_path: Path) -> None:
    page = visit("?view=head&layer=2&head=3&text=A+dog+runs.", scheme="dark")
    expect(page.frame_locator(".stIFrame").locator("svg text").first).to_be_visible()
    assert "layer 2" in (page.locator(".stIFrame").get_attribute("title") or "")
    drawing = ElementTree.parse(save(page, page.locator(".stIFrame + .hl-save"), "SVG", tmp_path)).getroot()
    assert drawing.findtext(f"{SVG}title") == "BertViz head view: cross-attention, layer 2"
    assert {"dog", "runs", "Hund", "Sentence: A dog runs."} <= {word.strip() for word in words_of(drawing)}
    assert {text.get("fill") for text in drawing.iter(f"{SVG}text")} == {INK}
    assert len(list(drawing.iter(f"{SVG}line"))) >= 25  # each of five written tokens to each of five that are read

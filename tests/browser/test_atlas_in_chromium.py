"""The page Atlas of the app in a real browser: from all heads to one, its sentences, and back from a cell of a map."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from model.atlas.atlas import open_atlas
from model.atlas.store import ATLAS_FOLDER
from model.atlas.texts import sides_of
from model.interventions import Head
from tests.browser.conftest import cell, settle
from tests.conftest import BUNDLED

Visit = Callable[..., Page]
NAME = "everyday-en-de"


def test_a_rule_leads_to_a_head_its_sentences_and_back_from_a_cell(visit: Visit) -> None:
    atlas = open_atlas(BUNDLED / NAME / ATLAS_FOLDER)
    found = dict(zip(atlas.heads, atlas.numbers("previous")["previous"], strict=True))
    chosen = [head for head, value in found.items() if value > 0.5]
    page = visit(f"atlas?checkpoint={NAME}")
    settle(page)
    rows = page.get_by_role("region", name="Table of heads").locator("tbody tr")
    page.get_by_role("textbox", name="Rule").fill("previous > 0.5")
    expect(rows).to_have_count(len(chosen))
    assert 0 < len(chosen) < 40
    page.get_by_role("textbox", name="Rule").press("Enter")
    rows.first.locator("td").first.click()  # the whole row chooses
    title = page.locator(".atlas-head h3")
    expect(title).to_be_visible()
    page.wait_for_url(re.compile("atlas_head="))
    kind, layer, number = re.findall(r"atlas_head=(\w+)\.(\d+)\.(\d+)", page.url)[0]
    head = Head(kind, int(layer) - 1, int(number) - 1)
    assert head in chosen
    page.get_by_role("button", name="Its sentences are below").click()
    expect(title).to_be_in_viewport()
    place = next(place for place in atlas.places(head) if place.group == 10)
    shown = page.locator(".place").first
    expect(shown).to_contain_text(f"{100 * place.weights[0]:.1f}"[:3])
    queries, _ = sides_of(atlas.texts([place.line])[place.line], kind)
    for token in queries.tokens[1:4]:
        expect(page.locator(".places").first).to_contain_text(token.removeprefix("·"))
    word = page.locator(".place .word[data-weight]").first
    word.focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator(".place .word[data-weight]:focus")).to_have_count(1)
    settle(page)
    page.get_by_role("button", name="See all maps of this sentence").first.click()
    settle(page)
    cell(page, 1, 1).click()
    settle(page)
    page.get_by_role("button", name="Places like").click()
    expect(title).to_be_visible()
    page.wait_for_url(re.compile("atlas_like="))
    settle(page)
    expect(title).to_be_in_viewport()  # the link leads to the sentences, below the heads


def test_a_similar_head_opens_the_atlas_of_its_checkpoint(visit: Visit) -> None:
    page = visit(f"atlas?checkpoint={NAME}&atlas_head=cross.3.1&atlas_beside=everyday-de-en")
    settle(page)
    similar = page.get_by_title("Open the atlas of everyday-de-en").first
    layer, number = re.findall(r"\d+", similar.inner_text())[:2]
    similar.click()
    expect(page.locator(".atlas-head h3")).to_have_text(f"Cross, layer {layer}, head {number}")
    page.wait_for_url(re.compile(rf"atlas_head=cross\.{layer}\.{number}.*checkpoint=everyday-de-en"))

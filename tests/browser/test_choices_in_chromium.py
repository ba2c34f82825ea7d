"""Choices, the URL, the browser's Back, and hostile links."""

import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, urljoin

import pytest
from playwright.sync_api import Page, WebSocketRoute, expect

from tests.browser.conftest import settle

Visit = Callable[..., Page]
BOARD = "all => all.map((one) => Object.values(one.getBoundingClientRect().toJSON()))"


def steps_back(page: Page) -> int:
    return int(page.evaluate("history.length"))


def wait_for_layer(page: Page, layer: int) -> None:
    expect(page.get_by_text(f"Layer {layer} · ")).to_be_visible()
    settle(page)


def take_layer(page: Page, layer: int) -> None:
    page.get_by_role("combobox", name="Layer").click()
    page.get_by_role("option", name=str(layer), exact=True).click()
    wait_for_layer(page, layer)


def test_back_and_forward_restore_choices(visit: Visit) -> None:
    page = visit()
    wait_for_layer(page, 3)
    assert "?" not in page.url, "a default stands in no link"
    before = steps_back(page)
    take_layer(page, 2)
    expect(page).to_have_url(re.compile("layer=2&head=1$"))
    take_layer(page, 1)
    expect(page).to_have_url(re.compile("layer=1&head=1$"))
    assert steps_back(page) == before + 2
    page.go_back()
    wait_for_layer(page, 2)
    page.go_back()
    wait_for_layer(page, 3)
    expect(page).not_to_have_url(re.compile("[?]"))
    page.go_forward()
    wait_for_layer(page, 2)
    expect(page.get_by_role("combobox", name="Layer")).to_have_value("2")
    take_layer(page, 1)  # going on from there
    expect(page).to_have_url(re.compile("layer=1&head=1$"))


def test_a_page_switch_is_one_step_that_takes_the_choices_along(visit: Visit) -> None:
    page = visit("?layer=2&head=3&kind=encoder&merge=1")
    wait_for_layer(page, 2)
    before = steps_back(page)
    page.get_by_role("link", name="Inside").click()
    expect(page).to_have_url(re.compile("inside[?].*layer=2"))
    for choice in ("head=3", "kind=encoder", "merge=true"):
        assert choice in page.url
    assert steps_back(page) == before + 1
    expect(page.get_by_text("It is only rounding")).to_be_visible()
    settle(page)
    page.get_by_text("Divide by √d_k").click()
    expect(page).to_have_url(re.compile("scaled=false"))
    page.go_back()
    expect(page.get_by_text("It is only rounding")).to_be_visible()
    page.go_back()
    expect(page).to_have_url(re.compile("/[?].*layer=2"))
    wait_for_layer(page, 2)


def test_back_restores_a_sentence_and_its_forced_words(visit: Visit) -> None:
    page = visit("steps?text=A+dog+runs.&forced=1.300")
    expect(page.get_by_text("Forced:")).to_be_visible()
    settle(page)
    field = page.get_by_label(re.compile("Type a sentence"))
    field.fill("A cat sleeps.")
    field.press("Enter")
    expect(page.get_by_text("Forced:")).to_have_count(0)
    expect(page).to_have_url(re.compile("cat"))
    page.go_back()
    expect(field).to_have_value("A dog runs.")
    expect(page.get_by_text("Forced:")).to_be_visible()


@pytest.mark.parametrize("path", ["inside?kind=encoder&query=0&", "steps?", "?"])
def test_no_text_in_a_link_asks_another_host(visit: Visit, path: str) -> None:
    text = "a![p](//host1)b <img src=//host1/b> $\\includegraphics{//host1/c}$"
    page = visit(f"{path}checkpoint=multi30k-de-en-words&text={quote(text)}")
    expect(page.get_by_label(re.compile("Type a sentence"))).to_have_value(text)
    settle(page)
    expect(page.locator("img[src*='//host'], a[href^='//host']")).to_have_count(0)
    if "inside" in path:
        expect(page.get_by_text("The query of “a![p](//host1)b”")).to_be_visible()


def test_a_code_opens_the_same_page_with_the_same_choices(visit: Visit) -> None:
    page = visit("steps?text=A+dog+runs.&step=3")
    expect(page.get_by_text("step 3 of")).to_be_visible()
    settle(page)
    page.get_by_role("button", name="Link to this page").click()
    # The title of the dialog is a heading too, and is there before the code.
    code = page.get_by_role("dialog").get_by_role("heading", name=re.compile(r"^\w{5}$")).inner_text()
    other = visit(f"?code={code}")
    expect(other.get_by_text("step 3 of")).to_be_visible()
    expect(other).to_have_url(re.compile(r"/steps\?.*step=3"))
    other = visit("heads?code=nosuch")
    expect(other.get_by_text("No class and no page has the code “nosuch”")).to_be_visible()
    expect(other.get_by_role("switch").first).to_be_visible()


def test_every_fast_click_counts(visit: Visit) -> None:
    page = visit("heads")
    heads = page.get_by_role("switch", name=re.compile("^cross-attention, layer 1, head"))
    expect(heads).to_have_count(8)
    settle(page)
    before = page.locator(".switches button").evaluate_all(BOARD)
    for number in (1, 2, 3, 4, 5, 6, 6):  # while the page still works on the first
        heads.nth(number - 1).evaluate("button => button.click()")
    expect(page).to_have_url(re.compile(r"intervention=off\.cross\.1\.1-2-3-4-5(&|$)"))
    expect(page.get_by_role("switch", name=re.compile(": silenced"))).to_have_count(5)
    settle(page)
    assert page.locator(".switches button").evaluate_all(BOARD) == before, "no head moves or grows"


def test_lines_between_words_end_with_their_page(visit: Visit) -> None:
    page = visit("?text=A+dog+runs.")
    expect(page.locator(".hl-row ~ svg line").first).to_be_attached()
    page.get_by_role("link", name="Start here").click()
    expect(page.get_by_text("Words that you need")).to_be_visible()
    expect(page.locator(".hl-row ~ svg line")).to_have_count(0)


def test_a_theme_from_the_menu_stays_on_every_page(visit: Visit) -> None:
    page = visit("heads")
    settle(page)
    page.get_by_test_id("stMainMenuButton").click()
    page.get_by_test_id("stMainMenuPopover").get_by_text("Dark").click()
    app = page.locator(".stApp")
    expect(app).to_have_css("color-scheme", "dark")
    for path in ("/masks", "/"):
        page.goto(urljoin(page.url, path))
        settle(page)
        expect(app).to_have_css("color-scheme", "dark")


def test_a_visitor_learns_that_the_server_does_not_answer(visit: Visit) -> None:
    page, sockets, away = visit("_stcore/health", kept=False), list[WebSocketRoute](), list[bool]()

    def connect(socket: WebSocketRoute) -> None:
        if away:
            socket.close()
        else:
            socket.connect_to_server()
            sockets.append(socket)

    page.route_web_socket(re.compile("_stcore/stream"), connect)
    page.goto(page.url.replace("_stcore/health", "heads"))
    settle(page)
    note = page.get_by_role("alert").filter(has_text="Headlight does not answer")
    expect(note).to_have_count(0)
    away.append(True)
    sockets[-1].close()
    expect(note).to_be_visible()
    away.clear()
    expect(note).to_have_count(0)


def test_the_sentences_of_a_file_survive_another_page(visit: Visit, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("A dog runs.\nA cat sleeps.\n")
    page = visit("heads?heads_tab=roles&sentences_from=file")
    settle(page)
    page.locator("input[type=file]").set_input_files(tmp_path / "lines.txt")
    expect(page.get_by_text("Sentences: 2.")).to_be_visible()
    page.get_by_role("link", name="Masks").click()
    expect(page.get_by_text("Combined decoder mask.")).to_be_visible()
    settle(page)
    page.get_by_role("link", name="Heads").click()
    expect(page.get_by_text("The sentences of lines.txt are still used.")).to_be_visible()
    expect(page.get_by_text("Sentences: 2.")).to_be_visible()

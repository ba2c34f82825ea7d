"""Lessons in a published page: a question before the page, an answer of the visitor's own run, and the way back."""

import json
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, expect

from tests.browser.accessibility import AXE
from tests.live.conftest import Open
from tests.live.test_page_in_chromium import AXE_RUN, PHONE, ready

KEPT = "() => JSON.parse(localStorage.getItem('headlight-lessons'))"
HOSTILE = "<img src=x onerror=alert(1)> {key} dog"


def answer(page: Page, name: str) -> None:
    ready(page, page.get_by_role("group", name="Your answer").get_by_role("button", name=name).click)


def test_a_step_asks_first_and_the_own_run_answers_and_leaving_restores_the_choices(visit: Open) -> None:
    before = f"#translate?checkpoint=everyday-en-de&text={quote('The dog sleeps.')}&layer=2&head=3&kind=encoder"
    page = visit(before)
    page.get_by_role("link", name="Lessons").click()
    page.get_by_role("button", name="Start: Query, key, value").click()
    strip, steps = page.locator("section.lesson"), page.locator("[data-part=steps]")
    expect(strip.get_by_role("heading")).to_contain_text("A row of weights")
    expect(page.locator(".page")).to_contain_text("Answer first.")
    assert steps.count() == 0
    assert page.locator("input[name=text]").count() == 0
    strip.get_by_role("button", name="Hint").click()
    expect(strip.locator("ol.hints")).to_contain_text("A weight is a share of the attention.")
    answer(page, "The number of keys")
    outcome = page.locator(".lesson .outcome")
    expect(outcome).to_contain_text("Not so. In your run the weights of “Buch” add up to 1.00, over 8 keys.")
    expect(steps).to_be_visible()
    answer(page, "Always 1")
    expect(outcome).to_contain_text("Right. In your run")
    assert page.evaluate(KEPT) == {"query-key-value.row": {"first": "keys", "answer": "one", "right": True}}
    strip.get_by_role("button", name="Next step").click()
    expect(strip.get_by_role("heading")).to_contain_text("Query times key")
    expect(strip.get_by_role("heading")).to_be_focused()
    page.go_back()
    page.reload()
    expect(outcome).to_contain_text("Right. In your run")
    strip.get_by_role("button", name="Leave the lesson").click()
    page.get_by_role("link", name="Translate").click()
    expect(page.locator("[data-part=map]")).to_be_visible()
    for choice in ("layer=2", "head=3", "kind=encoder", "text=The+dog+sleeps."):
        assert choice in page.url
    assert "lesson" not in page.url


def test_a_number_is_answered_with_enter_and_a_sentence_stays_text(visit: Open) -> None:
    page = visit("#inside?lesson=query-key-value.divide")
    field = page.get_by_label("Your estimate, 1 to 40")
    field.fill("32")
    ready(page, lambda: field.press("Enter"))
    outcome = page.locator(".lesson .outcome")
    expect(outcome).to_contain_text("The model divides by its square root, 5.66.")
    own = page.get_by_label("Type a sentence in English and press Enter")
    own.fill(HOSTILE)
    ready(page, lambda: own.press("Enter"))
    expect(outcome).to_contain_text("5.66")
    assert page.locator("main img[src=x]").count() == 0


@pytest.mark.parametrize(("language", "right"), [("zh", "正确。"), ("ko", "맞습니다.")])
def test_a_phone_shows_a_step_in_the_language_of_its_visitor(visit: Open, language: str, right: str) -> None:
    page = visit(f"#inside?lesson=query-key-value.row&lang={language}", color_scheme="dark", **PHONE)
    page.evaluate(AXE)
    assert page.evaluate(AXE_RUN) == []
    ready(page, page.locator(".pills button").first.tap)
    expect(page.locator(".lesson .outcome")).to_contain_text(right)
    expect(page.locator("[data-target]")).to_be_in_viewport()
    expect(page.locator(".lesson .outcome")).to_be_in_viewport()
    assert page.evaluate(AXE_RUN) == []
    assert page.evaluate("() => document.documentElement.scrollWidth <= document.documentElement.clientWidth")


def test_one_file_has_lessons_and_an_unknown_step_gets_a_sentence(visit: Open, folder: Path) -> None:
    address = (folder / "one.html").as_uri()
    page = visit("#masks?lesson=masks-and-decoding.right-mask", address=address)
    page.locator(".pills").get_by_role("button").first.click()
    expect(page.locator(".lesson .outcome")).to_contain_text("Right.")
    page = visit("#translate?lesson=no-such.step", address=address)
    expect(page.locator("section.lesson")).to_contain_text("This page has no step “no-such.step”.")
    assert json.loads(page.evaluate("() => localStorage.getItem('headlight-lessons') ?? '{}'")).keys() <= {
        "masks-and-decoding.right-mask"
    }


def test_back_from_the_link_of_a_lesson_leads_to_the_page_before_it(visit: Open) -> None:
    page = visit("#masks")
    ready(page, lambda: page.evaluate("() => { location.hash = '#translate?lesson=query-key-value'; }"))
    expect(page.locator(".page")).to_contain_text("Answer first.")
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Masks")
    assert page.locator("section.lesson").count() == 0


def test_a_step_without_its_lesson_has_no_frame_and_an_unknown_step_is_named_on_one_page(visit: Open) -> None:
    page = visit("#inside")
    ready(page, lambda: page.evaluate("() => { location.hash = '#inside?lesson=query-key-value.row'; }"))
    answer(page, "Always 1")
    expect(page.locator("[data-target]")).to_have_count(1)
    page.get_by_role("button", name="Leave the lesson").click()
    expect(page.locator("section.lesson")).to_have_count(0)
    expect(page.locator("[data-part=steps]")).to_be_visible()
    expect(page.locator("[data-target]")).to_have_count(0)
    ready(page, lambda: page.evaluate("() => { location.hash = '#inside?lesson=no-such.step'; }"))
    expect(page.locator("section.lesson")).to_contain_text("no-such.step")
    page.get_by_role("link", name="Masks").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Masks")
    assert page.locator("section.lesson").count() == 0


def test_forgotten_answers_are_gone_from_an_open_step_and_answers_of_another_tab_show_its_page(visit: Open) -> None:
    page = visit("#inside?lesson=query-key-value.row")
    kept = json.dumps({"query-key-value.row": {"first": "keys", "answer": "one", "right": True}})
    other = page.context.new_page()
    other.goto(page.url.split("#")[0])
    other.evaluate("(kept) => localStorage.setItem('headlight-lessons', kept)", kept)
    outcome = page.locator(".lesson .outcome")
    expect(outcome).to_contain_text("Right. In your run")
    expect(page.locator("[data-part=steps]")).to_be_visible()
    other.close()
    page.get_by_role("link", name="Lessons").click()
    page.get_by_text("Forget my progress").click()
    ready(page, page.get_by_role("button", name="Remove my answers").click)
    page.get_by_role("link", name="One head").click()
    expect(page.locator(".page")).to_contain_text("Answer first.")
    expect(outcome).to_be_empty()


def test_a_puzzle_offers_sentences_and_the_lesson_ends_with_what_was_found(visit: Open) -> None:
    page = visit("#positions?lesson=positions.puzzle-twin")
    offers = page.get_by_label("Choose a sentence")
    for sentence, mark in (("We love you.", "Not yet."), ("You love me.", "Right.")):
        ready(page, lambda sentence=sentence: offers.select_option(label=sentence))  # type: ignore[misc]
        expect(page.locator(".lesson .outcome")).to_contain_text(mark)
    page.get_by_role("button", name="Finish").click()
    summary = page.locator("section.summary")
    expect(summary).to_contain_text("What you have found in “Where am I?”")
    expect(summary).to_contain_text("Puzzle: the twin: Solved. With positions, “You love me.” becomes")
    ready(page, page.get_by_role("button", name="Start: Query, key, value").click)
    page.get_by_role("link", name="Lessons").click()
    expect(page.locator("ol.lessons")).to_be_visible()
    expect(summary).to_have_count(0)


def test_the_tour_marks_a_step_after_the_visitor_has_pointed(visit: Open) -> None:
    page = visit("#translate?lesson=first-visit.tokens", **PHONE)
    outcome = page.locator(".lesson .outcome")
    expect(page.locator("[data-row=writes] .hl-chip").first).to_be_visible()
    expect(outcome).to_be_empty()
    page.locator("[data-row=writes] .hl-chip").first.tap()
    expect(outcome).to_contain_text("Right. The model was least sure about")

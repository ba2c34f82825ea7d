"""A lesson in a real browser: what it keeps, its keys, and what axe-core finds."""

import json
import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser import accessibility
from tests.browser.conftest import settle
from tests.browser.test_present_in_chromium import SMALLEST
from viz_app.content.lesson_texts import lesson_text
from viz_app.course.catalogue import LESSONS, TOUR
from viz_app.course.lesson import OneOf

Visit = Callable[..., Page]
LESSON, STEP = next((one, step) for one in LESSONS for step in one.steps if isinstance(step.answer, OneOf))
NAME, LESSON_TITLE = LESSON.link(STEP), lesson_text(LESSON.name, "en").title
DEEP = next(one for one in LESSONS if one.name == "masks-and-decoding")  # its pictures are far down the page
SCROLLED = "() => document.querySelector('[data-testid=stMain]').scrollTop"
NEXT = "() => document.querySelector('.st-key-lesson_next button')?.innerText"  # what the next press does
KEPT = "() => JSON.parse(localStorage.getItem('headlight-lessons') ?? '{}')"


def waits(page: Page) -> None:
    expect(page.get_by_text("Answer first. Then the picture appears.")).to_be_visible()
    settle(page)


def answer(page: Page, index: int) -> None:
    page.locator(".st-key-lesson_strip [data-testid=stButtonGroup] button").nth(index).click()
    expect(page.locator(".st-key-lesson_outcome")).to_be_visible()
    settle(page)


def test_answers_survive_a_reload_and_what_another_tab_has_kept(visit: Visit) -> None:
    page = visit(f"?lesson={NAME}")
    waits(page)
    accessibility.check(page)
    hostile = {f"{LESSON.name}.x": {"first": "<b>"}, LESSON.link(LESSON.steps[-1]): "<script>", "other": [1]}
    page.evaluate("(text) => localStorage.setItem('headlight-lessons', text)", json.dumps(hostile))
    answer(page, 0)
    page.wait_for_function(f"(name) => name in ({KEPT})()", arg=NAME)
    kept = page.evaluate(KEPT)
    assert kept.keys() == hostile.keys() | {NAME}, "an answer is added to what is kept"
    assert kept[NAME]["first"] == STEP.answer.options[0]
    accessibility.check(page)
    page.reload()
    expect(page.locator(".st-key-lesson_outcome")).to_be_visible()
    settle(page)
    outcome = page.locator(".st-key-lesson_outcome").inner_text()
    page.evaluate("() => localStorage.setItem('headlight-lessons', '{not json')")
    page.reload()
    waits(page)
    answer(page, 0)
    assert page.locator(".st-key-lesson_outcome").inner_text() == outcome
    page.get_by_role("link", name="Lessons").click()
    page.get_by_role("button", name="Forget my progress").click()
    page.get_by_role("button", name="Remove my answers").click()
    page.wait_for_function("() => localStorage.getItem('headlight-lessons') === null")


def test_leaving_restores_the_choices_from_before_a_reload(visit: Visit) -> None:
    page = visit("lessons?text=My+own+sentence.&checkpoint=everyday-en-de")
    settle(page)
    page.locator(f".st-key-open_{LESSON.name} button").first.click()
    waits(page)
    page.wait_for_url("**lesson=*")  # the address comes after the page
    page.reload()
    waits(page)
    page.get_by_role("button", name="Leave the lesson").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Lessons")
    page.wait_for_url("**text=My+own+sentence.*")
    page.wait_for_function("() => sessionStorage.getItem('headlight-before') === null")


def test_a_clicker_shows_the_marked_part_of_each_step_then_the_answer_and_never_ends_the_lesson(visit: Visit) -> None:
    page = visit(f"?lesson={DEEP.link(DEEP.steps[0])}&present=true&lang=ko")
    page.set_viewport_size({"width": 1280, "height": 720})
    outcome = page.locator(".st-key-lesson_outcome")
    for step in DEEP.steps:
        page.wait_for_url(f"**lesson={DEEP.link(step)}*")
        settle(page)
        size, words = page.evaluate(SMALLEST)
        assert size >= 21.9 or not step.predicts, words
        head = page.locator(".st-key-lesson_head").bounding_box()
        assert head
        assert head["y"] < 40, "each step begins at the top of the screen"
        target = page.locator(f".st-key-{step.target}").first
        expect(target).to_have_count(0 if step.predicts else 1)
        for visible in ([target], [target, outcome])[not step.predicts :]:
            before = page.evaluate(NEXT)
            page.keyboard.press("PageDown")
            for one in visible:
                expect(one).to_be_in_viewport(ratio=0.2)
            page.wait_for_function(f"before => ({NEXT})() !== before", arg=before)
            settle(page)
        page.keyboard.press("PageDown")  # to the next step
    page.keyboard.press("ArrowRight")
    settle(page)
    assert DEEP.link(DEEP.steps[-1]) in page.url, "a press too many ends nothing"
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(f"**lesson={DEEP.link(DEEP.steps[-2])}*")


def test_back_after_a_lesson_leads_to_its_last_step(visit: Visit) -> None:
    page = visit("lessons")
    settle(page)
    page.locator(f".st-key-open_{LESSON.name} button").first.click()
    waits(page)
    page.get_by_role("button", name="Leave the lesson").click()
    page.wait_for_url(re.compile("/lessons$"))
    settle(page)
    for steps, heading in ((-1, LESSON_TITLE), (-1, "Lessons"), (1, LESSON_TITLE), (1, "Lessons")):
        page.evaluate("(steps) => history.go(steps)", steps)
        expect(page.get_by_role("heading", level=1)).to_contain_text(heading)
        settle(page)


def test_space_scrolls_before_any_click(visit: Visit) -> None:
    page = visit("lessons")
    page.set_viewport_size({"width": 1280, "height": 720})
    settle(page)
    for key in ("Space", "ArrowDown"):
        before = page.evaluate(SCROLLED)
        page.keyboard.press(key)
        page.wait_for_function(f"(before) => ({SCROLLED})() > before", arg=before)


def test_the_tour_is_offered_once_and_moves_nothing(visit: Visit) -> None:
    page = visit()
    offer = page.get_by_role("region", name="Tour")
    expect(offer).to_be_visible()
    settle(page)
    accessibility.check(page)
    heading = page.get_by_role("heading", level=1)
    top = heading.bounding_box()
    offer.get_by_role("button", name="No, thanks").click()
    expect(offer).to_have_count(0)
    assert heading.bounding_box() == top
    page.reload()
    settle(page)
    expect(offer).to_have_count(0)
    page.get_by_role("link", name="Lessons").click()
    page.get_by_role("button", name="Take the tour").click()
    page.wait_for_url(f"**lesson={TOUR.link(TOUR.steps[0])}*")
    settle(page)
    picture = page.locator("svg.map").bounding_box()
    assert picture
    assert picture["y"] < 720, "the picture is on the screen"


def test_the_offer_covers_no_button_of_a_phone(visit: Visit) -> None:
    page = visit(phone=True)
    page.get_by_test_id("stExpandSidebarButton").tap()
    page.get_by_test_id("stSidebarCollapseButton").get_by_role("button").tap()  # the offer does not cover it
    page.get_by_role("button", name="Take the tour").tap()
    expect(page.locator(".st-key-lesson_strip")).to_be_visible()
    settle(page)
    width = page.evaluate("() => document.querySelector('.st-key-lesson_strip').scrollWidth")
    assert width <= 390
    accessibility.check(page)
    page.get_by_role("button", name="Leave the lesson").tap()
    expect(page.locator(".st-key-lesson_strip")).to_have_count(0)

"""Presenter mode: the size of every text for the back row, and the keys of a clicker."""

import re
from collections.abc import Callable
from itertools import pairwise

from playwright.sync_api import Page, expect

from tests.browser.conftest import App, settle

Visit = Callable[..., Page]
TEXT = "text=A+brown+dog+is+running+through+the+snow."
# The size of the smallest visible text in pixels of the screen, and the text.
SMALLEST = """() => {
    let smallest = [Infinity, ""];
    const walk = (node, zoom) => {
        if (node.nodeType === Node.TEXT_NODE) {
            const one = node.parentElement, box = one.getBoundingClientRect(), style = getComputedStyle(one);
            const seen = box.width > 1 && box.height > 1 && one.checkVisibility({ visibilityProperty: true });
            const icon = one.closest("[data-testid=stIconMaterial], style, script, .stDataFrame");
            const size = parseFloat(style.fontSize) * zoom;
            const words = node.textContent.trim();
            if (seen && !icon && words && size < smallest[0]) smallest = [size, words];
            return;
        }
        const own = node instanceof Element ? Number(getComputedStyle(node).zoom) || 1 : 1;
        for (const child of [...(node.shadowRoot?.childNodes ?? []), ...node.childNodes]) walk(child, zoom * own);
    };
    walk(document.querySelector(".stMainBlockContainer"), 1);
    return smallest;
}"""


def test_every_text_can_be_read_from_the_back_row_in_presenter_mode(visit: Visit) -> None:
    page = visit(f"?{TEXT}&present=true")
    page.set_viewport_size({"width": 1280, "height": 720})
    settle(page)
    size, words = page.evaluate(SMALLEST)
    assert size >= 21.9, words
    picture = page.locator(".st-key-head_map svg.map").bounding_box()
    assert picture
    assert picture["y"] + picture["height"] <= 720, "the picture has the screen"
    page.goto(page.url.replace("/?", "/steps?"))
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    settle(page)
    size, words = page.evaluate(SMALLEST)
    assert size >= 21.9, words
    for part in (page.get_by_role("group", name="Step 1 of"), page.locator(".candidate").last):
        box = part.bounding_box()
        assert box
        assert box["y"] + box["height"] <= 720, "all heads and all candidates are on the screen"


def test_sentence_translation_and_both_maps_with_their_labels_fit_on_a_projector(visit: Visit) -> None:
    page = visit(f"?{TEXT}")
    page.set_viewport_size({"width": 1280, "height": 720})
    settle(page)
    pictures = page.locator(".sheet, svg.map").all()
    assert len(pictures) == 2
    for picture in pictures:  # a busy page notices its new size later
        expect(picture).to_be_in_viewport(ratio=0.995, timeout=30_000)


def test_chips_can_be_read_in_both_themes_in_presenter_mode(visit: Visit) -> None:
    for scheme, ink in (("light", "rgb(0, 0, 0)"), ("dark", "rgb(255, 255, 255)")):
        page = visit(f"?{TEXT}&present=true", scheme=scheme)
        expect(page.locator(".hl-chip").first).to_have_css("color", ink)


def test_keys_start_presenting_step_and_leave(visit: Visit, app: App) -> None:
    page = visit(f"?{TEXT}&layer=1&head=8")
    settle(page)
    typing = page.get_by_label("Type a sentence")
    typing.press("End")
    typing.press("p")
    expect(typing).to_have_value(re.compile("p$"))  # who types writes a letter
    typing.press("Backspace")
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("p")
    expect(page).to_have_url(re.compile("present=true"))
    expect(page.get_by_role("region", name="Sidebar")).to_be_hidden()
    page.keyboard.press("PageDown")  # of a clicker
    expect(page.get_by_text("Layer 2 · head 1.")).to_be_visible()
    expect(page).to_have_url(re.compile("layer=2"))
    page.keyboard.press("ArrowLeft")
    expect(page.get_by_text("Layer 1 · head 8.")).to_be_visible()
    settle(page)
    page.keyboard.press("Escape")
    expect(page.get_by_role("link", name="Step by step")).to_be_visible()
    page.goto(f"{app.url}/steps?{TEXT}&present=true")
    expect(page.get_by_text("step 1 of 9")).to_be_visible()
    settle(page)
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("step 2 of 9")).to_be_visible()
    expect(page).to_have_url(re.compile("step=2"))


def test_no_choice_loses_its_name_at_a_zoom_of_150_percent(visit: Visit, app: App) -> None:
    page = visit(f"?{TEXT}")
    page.set_viewport_size({"width": 853, "height": 480})
    for path in ("", "steps", "heads"):
        page.goto(f"{app.url}/{path}?{TEXT}")
        settle(page)
        cut = page.evaluate(
            """() => [...document.querySelectorAll('.stMainBlockContainer :is(button, label) p')].filter(
                one => one.offsetParent && one.scrollWidth > one.clientWidth + 1).map(one => one.textContent)"""
        )
        assert cut == [], path


def test_no_label_of_forty_words_overprints_another_and_tips_stay_in_the_window(visit: Visit) -> None:
    page = visit("?text=" + "+".join(["old", "dog", "red", "hat", "car"] * 8))
    expect(page.locator(".st-key-head_map text[transform^='rotate(-90'][lang]").nth(10)).to_be_attached(timeout=30_000)
    settle(page)
    boxes = page.evaluate(
        """() => [...[...document.querySelectorAll('.st-key-head_map *')].find(one => one.shadowRoot).shadowRoot
            .querySelectorAll('text[transform^="rotate(-90"][lang]')].map(one => {
            const { left, right } = one.getBoundingClientRect();
            return [left, right];
        }).sort((a, b) => a[0] - b[0])"""
    )
    assert len(boxes) > 10
    assert all(left[1] <= right[0] + 1 for left, right in pairwise(boxes)), boxes
    chips = page.locator(".hl-row[data-row=writes] .hl-chip")
    last = max(range(min(chips.count(), 20)), key=lambda i: (chips.nth(i).bounding_box() or {"x": 0})["x"])
    chips.nth(last).hover()
    tip = chips.nth(last).locator(".hl-tip").bounding_box()
    assert tip
    assert tip["x"] + tip["width"] <= 1280
    covering = """() => {
        const tip = [...document.querySelectorAll('.hl-tip')].find(one => getComputedStyle(one).display !== 'none');
        const { left, top, width, height } = tip.getBoundingClientRect(), parts = [0.1, 0.3, 0.5, 0.7, 0.9];
        return parts.flatMap(x => parts.map(y => document.elementFromPoint(left + x * width, top + y * height)))
            .filter(one => !tip.contains(one)).map(one => one?.outerHTML.slice(0, 80) ?? 'the edge of the window');
    }"""
    assert page.evaluate(covering) == [], "nothing lies over the tip"
    chips.first.hover()
    on_top = page.evaluate(
        """() => {
            const tip = [...document.querySelectorAll('.hl-tip')].find(one => getComputedStyle(one).display !== 'none');
            const box = tip.getBoundingClientRect();
            return [...document.querySelectorAll('.hl-chip')].map(one => one.getBoundingClientRect())
                .map(({ left, right, top, bottom }) => [(left + right) / 2, (top + bottom) / 2])
                .filter(([x, y]) => box.left < x && x < box.right && box.top < y && y < box.bottom)
                .map(([x, y]) => tip.contains(document.elementFromPoint(x, y)));
        }"""
    )
    assert len(on_top) > 0, "chips of the next line lie below it"
    assert all(on_top)


def test_a_clicker_steps_through_the_snapshots(visit: Visit) -> None:
    page = visit("learning?checkpoint=multi30k-en-de&text=A+dog+runs.&present=true")
    page.set_viewport_size({"width": 1280, "height": 720})
    settle(page)
    label = page.locator(".snapshot")
    expect(label).to_have_text("trained")
    page.keyboard.press("ArrowLeft")
    expect(label).to_have_text(re.compile("^step"))
    expect(label).to_be_in_viewport()
    page.keyboard.press("PageDown")
    expect(label).to_have_text("trained")
    page.keyboard.press("PageDown")  # there is no more: it stays
    expect(label).to_have_text("trained")
    table = page.locator("[data-testid=stDataFrame]").first
    size = table.evaluate(
        """(table) => {
            const type = getComputedStyle(table.querySelector('canvas')).getPropertyValue('--gdg-base-font-style');
            return getComputedStyle(table).zoom * parseFloat(type.split(' ')[1]);
        }"""
    )
    assert size >= 21.9, "a table is a canvas, whose type has a size of its own"
    place = table.bounding_box()
    assert place
    assert 1140 < place["width"] < 1280 - place["x"]


def test_a_clicker_steps_through_the_stations(visit: Visit) -> None:
    page = visit("inside?inside_tab=stations&text=A+dog+runs.&present=true")
    page.set_viewport_size({"width": 1280, "height": 720})
    settle(page)
    at_the_top = """() => [...document.querySelectorAll('[class*="st-key-stop_"]')].findIndex(
        one => Math.abs(one.getBoundingClientRect().top) <= 4) + 1"""
    walked = []
    for key in ["PageDown", "ArrowRight"] * 12 + ["PageUp", "ArrowLeft"] * 12:
        page.keyboard.press(key)
        walked.append(page.evaluate(at_the_top))
    # Down and up again, each station in its turn; 0 is on the way through one that is higher than the screen.
    stations = [number for number in walked if number]
    there = list(dict.fromkeys(stations))
    assert there == list(range(1, len(there) + 1))
    assert len(there) > 5
    assert page.evaluate("() => document.querySelector('[data-testid=stMain]').scrollTop") == 0


# What of the page lies under the buttons of who presents.
COVERED = """() => {
    const over = [...document.querySelectorAll('.st-key-leave_present button, .st-key-walker button')]
        .map((one) => one.getBoundingClientRect());
    const meet = (a, b) => a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom;
    const parts = '.stMainBlockContainer :is(button, input, label, p, h2, canvas, svg, .js-plotly-plot)';
    return [...document.querySelectorAll(parts)]
        .filter((one) => one.checkVisibility() && !one.closest('.st-key-leave_present, .st-key-walker'))
        .filter((one) => over.some((box) => meet(box, one.getBoundingClientRect())))
        .map((one) => one.outerHTML.slice(0, 80));
}"""


def test_a_clicker_scrolls_a_page_without_steps_from_its_first_key_and_nothing_is_covered(
    visit: Visit, app: App
) -> None:
    page = visit(f"?{TEXT}&present=true")
    page.set_viewport_size({"width": 1280, "height": 720})
    settle(page)
    assert page.evaluate(COVERED) == []
    for path in ("heads", "positions"):
        page.goto(f"{app.url}/{path}?present=true")
        settle(page)
        assert page.evaluate(COVERED) == []
        page.keyboard.press("PageDown")
        page.wait_for_function("() => document.querySelector('[data-testid=stMain]').scrollTop > 300")
        page.keyboard.press("PageUp")
        page.wait_for_function("() => document.querySelector('[data-testid=stMain]').scrollTop === 0")


def test_the_key_p_can_be_switched_off_and_stays_so(visit: Visit) -> None:
    page = visit("training")
    settle(page)
    page.get_by_role("button", name="Keys").click()
    switch = page.get_by_role("checkbox", name="The key p starts presenter mode")
    expect(switch).to_be_checked()
    switch.uncheck()
    page.reload()
    settle(page)
    page.keyboard.press("p")
    page.get_by_role("button", name="Keys").click()
    expect(switch).not_to_be_checked()
    expect(page.get_by_role("region", name="Sidebar")).to_be_visible()
    switch.check()
    page.keyboard.press("Escape")
    page.get_by_role("heading", level=1).click()
    page.keyboard.press("p")
    expect(page.get_by_role("region", name="Sidebar")).to_be_hidden()

"""What fingers, keys and a held mouse button do to our components, on a wide screen and on a telephone."""

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.accessibility import check
from tests.browser.conftest import App, cell, settle, tile

Visit = Callable[..., Page]
TEXT = "text=A+brown+dog+is+running+through+the+snow."
COUNT_RUNS = """() => {
    window.runs = 0;
    new MutationObserver(() => (window.runs += 1)).observe(
        document.querySelector('[data-testid=stApp]'), { attributeFilter: ['data-test-script-state'] });
}"""
FOCUSED = """() => {
    let element = document.activeElement;
    while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
    return element?.getAttribute('aria-label') ?? element?.textContent ?? '';
}"""


def focused(page: Page) -> str:
    return str(page.evaluate(FOCUSED))


def test_the_step_slider_can_be_dragged_through_all_steps(visit: Visit) -> None:
    page = visit(f"steps?{TEXT}")
    slider = page.get_by_label("Step", exact=True)
    expect(slider).to_be_visible()
    settle(page)
    box = slider.bounding_box()
    assert box
    last = int(slider.get_attribute("max") or 0)
    middle = box["y"] + box["height"] / 2
    slider.hover(position={"x": 8, "y": box["height"] / 2})
    page.mouse.down()
    seen = []
    for part in range(1, 4 * last + 1):
        page.mouse.move(box["x"] + 8 + (box["width"] - 16) * part / (4 * last), middle)
        seen.append(int(slider.input_value()))
    page.mouse.up()
    assert seen == sorted(seen)
    assert len(set(seen)) > last // 2, "the slider followed the pointer, and not by one step alone"
    expect(page.get_by_text(f"step {last} of {last}")).to_be_visible()


def test_snapshots_are_dragged_by_a_finger_played_by_keys_and_kept_in_the_link(visit: Visit) -> None:
    page = visit("learning?text=A+dog+runs.", phone=True)
    slider, shown = page.get_by_label("Snapshot", exact=True), page.locator("output.snapshot")
    expect(shown).to_have_text("trained")
    settle(page)
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    assert box
    finger, middle, seen = page.context.new_cdp_session(page), box["y"] + box["height"] / 2, []
    for part in range(10, -1, -1):
        touch = [{"x": box["x"] + 8 + (box["width"] - 16) * part / 10, "y": middle}]
        kind = "touchStart" if part == 10 else "touchMove"
        finger.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touch})
        seen.append(int(slider.input_value()))
    finger.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    assert seen == sorted(seen, reverse=True)
    assert len(set(seen)) > 4, "the slider followed the finger"
    expect(shown).to_have_text("step 0")
    expect(page).to_have_url(re.compile("snapshot=0"))
    settle(page)
    page.get_by_role("button", name="layer 1, head 2", exact=True).tap()
    expect(page).to_have_url(re.compile("head=2"))
    settle(page)
    expect(shown).to_have_text("step 0")
    wide = min(one["width"] for one in (tile.bounding_box() for tile in page.locator(".over").all()) if one)
    assert wide >= 24, "a finger finds every head"
    page.evaluate(COUNT_RUNS)
    page.get_by_role("button", name="Play").focus()
    page.keyboard.press("Enter")
    expect(shown).not_to_have_text(re.compile("^step (0|250)$"))
    assert page.evaluate("() => window.runs") == 0, "the browser plays, the server rests"
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Play")).to_be_focused()
    check(page)


def test_play_and_a_candidate_keep_the_focus_and_one_place_announces(visit: Visit) -> None:
    page = visit(f"steps?{TEXT}")
    settle(page)
    announcement = page.locator("[role=status][data-announcer]")
    expect(announcement).to_have_text("")  # at first one reads the page
    assert page.locator("[aria-live=polite]").count() == 0, "every change is announced in one place"
    place = announcement.element_handle()
    page.emulate_media(reduced_motion="reduce")
    button = page.locator("[data-testid=stBaseButton-secondary]").first
    assert button.evaluate("one => parseFloat(getComputedStyle(one).transitionDuration)") <= 0.001
    page.get_by_role("button", name="Play").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Pause")).to_be_focused()
    expect(page.get_by_role("button", name="Speed: 0.5 ×")).to_be_visible()  # of who wants less motion
    page.keyboard.press("Enter")
    page.get_by_label("Step", exact=True).fill("2")
    expect(page.get_by_text("step 2 of")).to_be_visible()
    word = page.locator(".candidate.written .word")
    expect(announcement).to_have_text(f"Step 2: written {word.inner_text()}")
    expect(page).to_have_url(re.compile("step=2"))
    settle(page)
    expect(announcement).to_contain_text("Step 2")  # what the page said before is not repeated
    assert [word.get_attribute("lang"), announcement.locator("bdi").get_attribute("lang")] == ["de", "de"]
    candidate = page.locator("[data-id]").nth(3)  # the next are spelled like the first, and may become the same text
    label = candidate.get_attribute("aria-label") or ""
    assert label.startswith(candidate.locator(".word").inner_text())
    candidate.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Forced:")).to_be_visible()
    settle(page)
    page.wait_for_function(f"(name) => ({FOCUSED})().startsWith(name)", arg=label.split(",")[0])
    expect(announcement).to_have_text(f"Written: {page.locator('.hl-text').inner_text()}")
    assert place.evaluate("element => element.isConnected")


def test_a_token_of_the_line_view_can_be_focused(visit: Visit) -> None:
    errors: list[str] = []
    page = visit(f"?view=lines&{TEXT}")
    page.on("pageerror", lambda error: errors.append(str(error)))
    lines = page.locator("svg[data-lines] line")
    settle(page)
    expect(lines.first).to_be_attached()
    every = lines.count()
    check(page)
    query, key = (page.locator(f"text[data-side={side}]").first.bounding_box() for side in ("query", "key"))
    assert query
    assert key
    assert query["x"] < key["x"], "queries are on the left, as BertViz has them"
    page.locator("text[data-side=query]").nth(2).focus()
    expect(lines).not_to_have_count(every)
    expect(page.locator("text.token.chosen")).to_have_count(1)
    page.keyboard.press("Tab")
    expect(page.locator("text[data-side=query]").nth(3)).to_be_focused()
    assert errors == []


def test_the_board_and_the_tree_answer_to_the_keyboard_and_keep_the_focus(visit: Visit) -> None:
    page = visit(f"heads?{TEXT}")
    settle(page)
    head = page.get_by_role("switch", name="cross-attention, layer 1, head 3")
    head.focus()
    page.keyboard.press("Space")
    expect(head).to_have_attribute("aria-checked", "false")
    expect(head).to_be_focused()
    expect(page.locator("[data-announcer]")).to_contain_text("Silenced heads: cross, layer 1, head 3. Written:")
    check(page)
    page = visit(f"steps?steps_view=beam&beam_size=3&{TEXT}")
    check(page)
    page.locator("g.node").nth(1).focus()
    page.keyboard.press("Space")
    expect(page.get_by_text("Forced:")).to_be_visible()


def test_one_tap_opens_the_tile_that_was_tapped(visit: Visit) -> None:
    page = visit(f"?{TEXT}", phone=True)
    settle(page)
    for layer, head in ((2, 3), (1, 5)):
        tile(page, layer=layer, head=head).tap()
        expect(page.get_by_text(f"Layer {layer} · head {head}.")).to_be_visible()
        settle(page)


def test_one_tap_paints_the_cell_that_was_tapped(visit: Visit) -> None:
    page = visit(f"heads?layer=3&head=2&painted_weight=0.5&{TEXT}", phone=True)
    settle(page)
    for row, column in ((1, 4), (3, 0)):
        cell(page, row, column, name="paint_map").tap()
        expect(page.get_by_text(f"row {row + 1}, column {column + 1}: 0.5")).to_be_visible()
        settle(page)


def test_a_long_text_leaves_a_whole_page(visit: Visit, app: App) -> None:
    page = visit()
    for path in ("", "steps", "inside", "heads", "sentiment"):
        page.goto(f"{app.url}/{path}")
        settle(page)
        page.evaluate(COUNT_RUNS)
        field = page.get_by_role("textbox").first
        field.fill(("The old dog sleeps under the table. " * 600)[:20_000])
        field.press("Control+Enter" if path == "sentiment" else "Enter")
        page.wait_for_function("() => window.runs")
        settle(page)
        assert page.locator("[data-testid=stException], [data-testid=stAlertContentError]").count() == 0, path


def test_arrow_keys_walk_a_map_and_paint_a_cell(visit: Visit) -> None:
    page = visit(f"heads?layer=3&head=2&painted_weight=0.5&{TEXT}")
    settle(page)
    map_ = page.get_by_role("group", name=re.compile("^Attention weights"))
    map_.focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowRight", "ArrowRight"):  # the first one comes to the first cell
        page.keyboard.press(key)
    expect(page.locator("[data-announcer]")).to_have_text(re.compile("attention weight: .*; choose to paint"))
    page.keyboard.press("Enter")
    expect(page.get_by_text("row 2, column 3: 0.5")).to_be_visible()
    expect(map_).to_be_focused()


def test_the_heads_of_the_board_are_one_tab_stop(visit: Visit) -> None:
    page = visit(f"heads?{TEXT}")
    settle(page)
    first = page.get_by_role("switch", name="cross-attention, layer 1, head 1:")
    first.focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown"):
        page.keyboard.press(key)
    expect(page.get_by_role("switch", name="cross-attention, layer 2, head 3:")).to_be_focused()
    page.keyboard.press("Space")
    expect(page.get_by_role("switch", name="cross-attention, layer 2, head 3: silenced")).to_be_focused()
    page.keyboard.press("Tab")
    assert "layer" not in focused(page), "the next stop is after the board"


def test_the_menu_of_a_telephone_closes_when_a_page_is_chosen_and_fingers_find_every_button(visit: Visit) -> None:
    page = visit(f"?{TEXT}", phone=True)
    settle(page)
    page.get_by_test_id("stExpandSidebarButton").tap()
    page.get_by_role("link", name="Heads").tap()
    expect(page.get_by_role("switch", name="cross-attention, layer 1, head 1:")).to_be_visible()
    page.wait_for_function("() => document.querySelector('[data-testid=stSidebar]').getBoundingClientRect().right <= 0")
    settle(page)
    page.wait_for_function("() => document.querySelector('[data-testid=stMain]').scrollWidth <= 390")
    button, result = page.get_by_role("button", name="Find what matters").bounding_box(), page.locator(".hl-lines")
    assert button
    assert abs((result.bounding_box() or {"y": 9999})["y"] - button["y"]) < 400, (
        "what is found is seen where one tapped"
    )
    small = page.evaluate(
        """() => [...document.querySelectorAll('.stMainBlockContainer :is(button, [role=tab])')]
            .filter(one => one.checkVisibility() && one.getBoundingClientRect().height < 43.5)
            .map(one => one.outerHTML)"""
    )
    assert small == []


def test_an_edge_of_a_circuit_opens_with_the_keyboard(visit: Visit) -> None:
    page = visit("circuits?checkpoint=tiny-gpt-en&circuit_edges=10")
    edge, faded = page.locator(".flow").nth(3), page.locator(".flow.faded")
    expect(page.locator(".flow")).to_have_count(10)
    settle(page)
    edge.press("Enter")
    expect(edge).to_have_attribute("aria-pressed", "true")
    name = str(edge.get_attribute("aria-label")).partition(":")[0]
    expect(page.get_by_role("heading", name=f"{name}.")).to_be_visible()
    expect(faded).to_have_count(0)
    page.locator(".circuit .node").first.press("Enter")
    expect(faded).not_to_have_count(0)
    settle(page)
    check(page)

"""The menu of pages: its sections, and the place that it leaves for the checkpoint picker."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import settle
from viz_app.widgets.navigation import HOME, PAGES, SECTIONS

Visit = Callable[..., Page]


def test_the_menu_names_every_section_and_keeps_every_address(visit: Visit) -> None:
    page = visit()
    settle(page)
    expect(page.get_by_test_id("stNavSectionHeader")).to_have_text([f"{name}expand_more" for name in SECTIONS])
    links = page.get_by_test_id("stSidebarNavLink")
    addresses = [link.get_attribute("href") or "" for link in links.all()]
    assert [address.rpartition("/")[2] or HOME for address in addresses] == list(PAGES)


@pytest.mark.parametrize(("phone", "height"), [(False, 720), (True, 844)])
def test_the_checkpoint_picker_and_its_summary_need_no_scrolling(visit: Visit, phone: bool, height: int) -> None:
    page = visit(phone=phone)
    if not phone:
        page.set_viewport_size({"width": 1280, "height": height})
    settle(page)
    if phone:
        page.get_by_test_id("stExpandSidebarButton").click()
    summary = page.get_by_test_id("stSidebarUserContent").get_by_test_id("stCaptionContainer").first
    expect(summary).to_be_in_viewport(ratio=1)
    for part in (page.get_by_test_id("stSidebarUserContent").locator(".stSelectbox"), summary):
        box = part.bounding_box()
        assert box
        assert box["y"] + box["height"] <= height

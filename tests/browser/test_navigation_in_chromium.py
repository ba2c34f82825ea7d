"""The menu of pages: its sections, and the space that it leaves for the controls below it."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import settle
from viz_app.content.shared import PAGES
from viz_app.widgets.navigation import HOME, SECTIONS

Visit = Callable[..., Page]


def test_the_menu_names_every_section_and_keeps_every_address(visit: Visit) -> None:
    page = visit()
    settle(page)
    expect(page.get_by_test_id("stNavSectionHeader")).to_have_text([f"{name}expand_more" for name in SECTIONS])
    links = page.get_by_test_id("stSidebarNavLink")
    addresses = [link.get_attribute("href") or "" for link in links.all()]
    assert [address.rpartition("/")[2] or HOME for address in addresses] == list(PAGES)


@pytest.mark.parametrize(("phone", "height"), [(False, 720), (True, 844)])
def test_everything_in_the_sidebar_is_visible_without_scrolling(visit: Visit, phone: bool, height: int) -> None:
    page = visit(phone=phone)
    if not phone:
        page.set_viewport_size({"width": 1280, "height": height})
    settle(page)
    if phone:
        page.get_by_test_id("stExpandSidebarButton").click()
    sidebar = page.get_by_test_id("stSidebarUserContent")
    parts = [
        sidebar.get_by_role("combobox", name="Checkpoint"),
        sidebar.get_by_test_id("stCaptionContainer").first,
        sidebar.get_by_test_id("stCheckbox").filter(has_text="Present"),
        sidebar.get_by_role("button", name="Link to this page"),
    ]
    for part in parts[: 2 if phone else None]:
        expect(part).to_be_in_viewport(ratio=1)
        box = part.bounding_box()
        assert box
        assert box["y"] + box["height"] <= height

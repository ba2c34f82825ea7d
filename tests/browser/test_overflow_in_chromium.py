"""Every page and tab, on a projector and a phone: no text is cut, covered or out of its box.

The language of the texts changes from page to page: Korean words are the widest, Chinese has no spaces.
"""

from collections.abc import Callable, Iterator
from itertools import cycle

from playwright.sync_api import Page

from tests.browser.conftest import App, settle
from tests.browser.overflow import PHONE, PROJECTOR, problems, resize
from viz_app.content.shared import PAGES
from viz_app.widgets.navigation import HOME

VIEWS = (
    "?view=lines",
    "?checkpoint=gru-de-en",  # one head
    "steps?steps_view=beam",
    "compare?compare=sentences",
    "circuits?circuit_edges=50",
)


def states(page: Page, app: App) -> Iterator[str]:
    """Open every page, every tab of it, and some more views, one after another."""
    for path, lang in zip((*PAGES, *VIEWS), cycle(("ko", "zh")), strict=False):
        page.goto(f"{app.url}/{'' if path == HOME else path}{'&' if '?' in path else '?'}lang={lang}")
        settle(page)
        yield f"{path} in {lang}"
        tabs = page.get_by_role("tab")
        for i in range(1, tabs.count()):
            tabs.nth(i).click()
            settle(page)
            yield f"{path} in {lang}, tab {i + 1}"


def test_no_text_is_cut_or_covered(visit: Callable[..., Page], app: App) -> None:
    page = visit("start", kept=False)
    found, sizes = [], [PHONE, PROJECTOR]
    for state in states(page, app):
        for size in sizes:
            if page.viewport_size != size:
                resize(page, size)
            found += [f"{state} at {size['width']} × {size['height']}: {one}" for one in sorted(problems(page))]
        sizes.reverse()  # the next page opens on the screen that is there
    assert not found, "\n".join(["", *found])

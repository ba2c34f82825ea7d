"""A real Chromium before the real app, which finds no other host."""

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import (
    Browser,
    Locator,
    Page,
    Request,
    ViewportSize,
    expect,
)

from tests.conftest import PATIENCE

ROOT = Path(__file__).parents[2]
WAIT = 30  # seconds for what a page is expected to show
expect.set_options(timeout=1000 * WAIT)
# The script has run, nothing of its earlier run is left, the browser has the code of every widget (what stands in its
# place until then is lower, and the page would move under a pointer), our style too, which comes as one of them, the
# keys of the page work, every text and every component has its content, and Plotly has drawn what came.
DRAWN = """() => document.querySelector('[data-testid=stApp][data-test-script-state=notRunning]')
    && [...document.querySelectorAll('style')].some(({ textContent }) => textContent.includes('.hl-chip'))
    && document.querySelector('.stMainBlockContainer [data-testid=stElementContainer]')
    && document.documentElement.dataset.keys
    && !document.querySelector('[data-stale=true], [data-testid=stSkeleton]')
    && [...document.querySelectorAll('.stMainBlockContainer :is(.stMarkdown, .stHtml)')].every(
        one => one.textContent.trim())
    && [...document.querySelectorAll('.stMainBlockContainer [class*=st-key-] *')].every(one => !one.shadowRoot
        || one.shadowRoot.querySelector('.root')?.childElementCount || one.closest('[class*=st-key-lesson_store]'))
    && [...document.querySelectorAll('[data-testid=stPlotlyChart]')].every(
        chart => chart.querySelector('.js-plotly-plot')?.calcdata)"""
VIEWPORTS: dict[bool, ViewportSize] = {False: {"width": 1280, "height": 800}, True: {"width": 390, "height": 844}}


@dataclass
class App:
    """The running server, and the requests of pages to other hosts."""

    url: str
    foreign: list[str] = field(default_factory=list)


@pytest.fixture(scope="session")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    log = tmp_path_factory.mktemp("server") / "log"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "streamlit", "run", "streamlit_app.py", "--server.headless=true"]
    environment = {k: v for k, v in os.environ.items() if k != "HEADLIGHT_CHECKPOINTS"}
    with log.open("w") as output:
        server = subprocess.Popen(
            [*command, f"--server.port={port}"], cwd=ROOT, env=environment, stdout=output, stderr=subprocess.STDOUT
        )
    url = f"http://localhost:{port}"
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            urllib.request.urlopen(f"{url}/_stcore/health", timeout=2).close()
            break
        except OSError:
            assert server.poll() is None, f"streamlit ended at once: {log.read_text()}"
            assert time.monotonic() < deadline, f"streamlit did not start: {log.read_text()}"
            time.sleep(0.2)
    yield App(url=url)
    server.terminate()
    server.wait(timeout=PATIENCE)
    assert "Traceback" not in log.read_text(), log.read_text()


def settle(page: Page) -> None:
    """Until the script has run and what it sent is drawn.

    The page is asked ten times a second: in every frame the question takes longer than what it waits for.
    """
    page.wait_for_function(DRAWN, polling=100)


def once_complete(problems: Callable[[], set[str]]) -> set[str]:
    """What is wrong with a page that may still be drawing: an element can be there before its text."""
    deadline = time.monotonic() + WAIT
    while (found := problems()) and time.monotonic() < deadline:
        time.sleep(0.2)
    return found


def visible_text(page: Page) -> str:
    """What the page says once it has settled."""
    settle(page)
    return page.locator(".stMainBlockContainer").inner_text()


def tile(page: Page, *, layer: int, head: int) -> Locator:
    """The button of a head among all heads; layer and head from 1."""
    return page.get_by_role("button", name=f"layer {layer}, head {head}", exact=True)


def cell(page: Page, query: int, key: int, *, name: str = "head_map") -> Locator:
    """A cell of the large map, or of another map with its key; query and key from 0."""
    return page.locator(f'.st-key-{name} [data-cell="{query},{key}"]')


@dataclass(kw_only=True)
class Tabs:
    """Tabs that wait for their next visitor: a new one fetches and compiles three megabytes of scripts first."""

    app: App
    chromium: Browser
    free: dict[bool, list[Page]] = field(default_factory=lambda: {False: [], True: []})  # by: a telephone's?

    def take(self, *, phone: bool) -> Page:
        return self.free[phone].pop() if self.free[phone] else self.new(phone=phone)

    def new(self, *, phone: bool) -> Page:
        context = self.chromium.new_context(viewport=VIEWPORTS[phone], has_touch=phone, is_mobile=phone)
        context.set_default_timeout(2000 * WAIT)  # a first page may wait for its checkpoint
        context.on("request", self.note)
        return context.new_page()

    def note(self, request: Request) -> None:
        if not request.url.startswith((self.app.url, self.app.url.replace("http", "ws"), "data:", "blob:", "about:")):
            self.app.foreign.append(request.url)

    def give_back(self, page: Page, *, phone: bool) -> None:
        """Forget the visitor: no cookie, nothing stored, no way back. What was fetched stays."""
        for other in page.context.pages:
            if other is not page:
                other.close()
        page.goto(f"{self.app.url}/_stcore/health")
        page.evaluate("() => [localStorage, sessionStorage].forEach((store) => store.clear())")
        page.context.clear_cookies()
        tools = page.context.new_cdp_session(page)
        tools.send("Page.resetNavigationHistory")
        tools.detach()
        if not phone:
            page.mouse.move(-9, -9)  # outside, where no pointer has been yet
        self.free[phone].append(page)


@pytest.fixture(scope="session")
def tabs(app: App, chromium: Browser) -> Tabs:
    return Tabs(app=app, chromium=chromium)


@pytest.fixture
def visit(app: App, tabs: Tabs) -> Iterator[Callable[..., Page]]:
    """Open a page as a visitor of their own: `visit("masks?layer=1", scheme="dark")`.

    A test that changes the tab itself asks for one that is not `kept` for the next visitor.
    """
    taken: list[tuple[Page, bool, bool]] = []

    def open_page(
        path: str = "", *, scheme: Literal["light", "dark"] = "light", phone: bool = False, kept: bool = True
    ) -> Page:
        page = tabs.take(phone=phone) if kept else tabs.new(phone=phone)
        taken.append((page, phone, kept))
        page.set_viewport_size(VIEWPORTS[phone])
        page.emulate_media(color_scheme=scheme, reduced_motion="no-preference")
        page.goto(f"{app.url}/{path}")
        return page

    yield open_page
    for page, phone, kept in taken:
        if kept:
            tabs.give_back(page, phone=phone)
        else:
            page.context.close()
    assert app.foreign == []
